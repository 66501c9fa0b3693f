import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'

const folder = new URL('../fixtures/openai-schemas/', import.meta.url)
const ajv = new Ajv2020({ strict: false, validateFormats: false })

/** Checks a value against OpenAI's published specification; returns the violation or null. */
export function openaiSchema (name: string): (value: unknown) => string | null {
  const schema = JSON.parse(readFileSync(new URL(`${name}.json`, folder), 'utf8'))
  const validate = ajv.getSchema(schema.$id) ?? ajv.compile(schema)
  return value => validate(value) ? null : ajv.errorsText(validate.errors)
}
