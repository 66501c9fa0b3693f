import { isObject, type JsonObject } from '../shared/json.ts'
import { textOrNull, type ProviderErrorDetail } from './video-jobs/errors.ts'

export const minimaxCodes = {
  1002: 'rate',
  1004: 'auth',
  1008: 'quota',
  1026: 'moderated',
  1027: 'moderated',
  2013: 'bad_request',
  2049: 'auth'
} as const

/** The first API, and some proxies still, report errors with status 200 in `base_resp`. */
export function minimaxError ({ base_resp: base }: JsonObject): ProviderErrorDetail | null {
  if (!isObject(base) || base.status_code === 0 || base.status_code === undefined) return null
  return { code: textOrNull(base.status_code), message: textOrNull(base.status_msg) }
}
