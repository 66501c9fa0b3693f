import type { JsonObject } from '../shared/json.ts'

/** What a model that cannot be constrained to a schema is asked instead; absent: any JSON object. */
export function schemaInstruction (schema: JsonObject | undefined): string {
  const form = schema === undefined ? '.' : ` that follows this JSON Schema:\n${JSON.stringify(schema)}`
  return `Answer with one JSON object alone, without a code fence${form}`
}
