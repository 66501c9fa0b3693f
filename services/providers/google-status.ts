import { isObject, isText, type JsonObject } from '../shared/json.ts'

/** The error object of a body; Google has a list around it where the request was for a stream. */
export function errorObjectIn (body: unknown): JsonObject | null {
  const first: unknown = Array.isArray(body) ? body[0] : body
  return isObject(first) && isObject(first.error) ? first.error : null
}

/** The details of a google.rpc.Status. Source: google.rpc.error_details. */
export function detailsOf (error: JsonObject | null): readonly JsonObject[] {
  return Array.isArray(error?.details) ? error.details.filter(isObject) : []
}

/** `retryDelay` of the google.rpc.RetryInfo in a body, e.g. `17.5s`, in ms; undefined without one. */
export function retryDelayMs (body: unknown): number | undefined {
  for (const { retryDelay } of detailsOf(errorObjectIn(body))) {
    const seconds = typeof retryDelay === 'string' ? Number.parseFloat(retryDelay) : NaN
    if (seconds >= 0) return Math.ceil(seconds * 1000)
  }
  return undefined
}

/** Whether a google.rpc.QuotaFailure names a quota of a day, so that waiting for a minute does not help. */
export function isDailyQuota (details: readonly JsonObject[]): boolean {
  return details.some(({ violations }) => Array.isArray(violations) && violations.some(violation =>
    isObject(violation) && [violation.quotaId, violation.subject].some(text => isText(text) && /per_?day/i.test(text))))
}
