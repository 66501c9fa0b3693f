import { UpstreamError, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isText, ownMember, type JsonObject } from '../../shared/json.ts'
import { detailsOf, errorObjectIn, isDailyQuota, retryDelayMs } from '../google-status.ts'
import { orMissingAddress } from '../missing-address.ts'
import { masked, readErrorBody, retryAfterMsOf } from '../upstream/read-response.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { kindByStatus } from '../upstream/status-kinds.ts'

/**
 * The error in a body, without the `secret`; null: none. Source: google.rpc.Status and
 * google.rpc.error_details.
 */
export function geminiErrorIn (
  body: unknown, httpStatus: number, secret: string | null
): UpstreamError | null {
  const error = errorObjectIn(body)
  if (error === null) return null
  const code = typeof error.code === 'number' ? error.code : httpStatus
  const status = typeof error.status === 'string' ? error.status : null
  const message = isText(error.message) ? masked(error.message, secret) : saysNothing(code)
  const details = detailsOf(error)
  const kind = kindOf(code, status, details)
  return new UpstreamError(kind, 'yes', message.slice(0, 2000), {
    status: code,
    type: status,
    retryAfterMs: retryDelayMs(body),
    ...(kind === 'bad_request' && tooLong.test(message) ? { code: 'context_length_exceeded', param: 'messages' } : {})
  })
}

/** The error of an answer whose status is not 200; reads the body. `secret` never appears in its message. */
export async function readGeminiError (
  response: UpstreamResponse, secret: string | null
): Promise<UpstreamError> {
  const { status, headers } = response
  const error = geminiErrorIn(await readErrorBody(response), status, secret) ??
    new UpstreamError(kindOf(status, null, []), 'yes', saysNothing(status))
  const retryAfterMs = error.details.retryAfterMs ?? retryAfterMsOf(headers)
  const details = { ...error.details, status, retryAfterMs }
  return orMissingAddress(new UpstreamError(error.kind, 'yes', error.message, details), response)
}

const saysNothing = (status: number): string => `The provider answered with status ${status}.`

const tooLong = /input token count .{0,200}exceeds the maximum/i

/** Google's own use of 409 and 501, beside the common statuses. */
const kindByHttpStatus: typeof kindByStatus = { ...kindByStatus, 409: 'overloaded', 501: 'bad_request' }

const kindByRpcStatus: Readonly<Record<string, UpstreamErrorKind>> = {
  INVALID_ARGUMENT: 'bad_request',
  FAILED_PRECONDITION: 'bad_request',
  OUT_OF_RANGE: 'bad_request',
  UNIMPLEMENTED: 'bad_request',
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'auth',
  NOT_FOUND: 'not_found',
  RESOURCE_EXHAUSTED: 'rate',
  ABORTED: 'overloaded',
  UNAVAILABLE: 'overloaded',
  DEADLINE_EXCEEDED: 'timeout',
  CANCELLED: 'bad_reply',
  INTERNAL: 'bad_reply',
  UNKNOWN: 'bad_reply',
  DATA_LOSS: 'bad_reply'
}

function kindOf (code: number, status: string | null, details: readonly JsonObject[]): UpstreamErrorKind {
  // A wrong key is reported as INVALID_ARGUMENT.
  if (details.some(({ reason }) => isText(reason) && reason.startsWith('API_KEY_'))) return 'auth'
  if (isDailyQuota(details)) return 'quota'
  return (status === null ? undefined : ownMember(kindByRpcStatus, status)) ?? kindByHttpStatus[code] ?? 'bad_reply'
}
