import { configJsonSchema } from '../services/config/json-schema.ts'

process.stdout.write(configJsonSchema())
