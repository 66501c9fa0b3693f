/** A JSON object of which nothing is known yet. */
export type JsonObject = Record<string, unknown>

/** Tells a JSON object from every other JSON value. */
export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a string that is not empty. */
export function isText (value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
