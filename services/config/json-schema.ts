import { GatewayFile } from '../../schemas/config/config.ts'

/** The JSON Schema of `gateway.yaml` for editors, as the text of `gateway.schema.json`. */
export function configJsonSchema (): string {
  const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...GatewayFile }
  return `${JSON.stringify(schema, null, 2)}\n`
}
