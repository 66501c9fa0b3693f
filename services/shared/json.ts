/** A JSON object whose members are not validated. */
export type JsonObject = Record<string, unknown>

/** Whether a JSON value is an object. */
export function isObject (value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Whether a value is a non-empty string. */
export function isText (value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
