import { UpstreamError, type UpstreamErrorKind } from '../shared/errors.ts'
import { isObject, isText, type JsonObject, ownMember } from '../shared/json.ts'
import { retryDelayMs } from './google-status.ts'
import { orMissingAddress } from './missing-address.ts'
import { masked, readErrorBody, retryAfterMsOf } from './upstream/read-response.ts'
import type { UpstreamResponse } from './upstream/response.ts'
import { kindByCommonStatus } from './upstream/status-kinds.ts'

/** The error of an answer whose status is not 2xx; reads the body. `secret` never appears in its message. */
export async function readUpstreamError (
  response: UpstreamResponse, secret: string | null
): Promise<UpstreamError> {
  return orMissingAddress(upstreamErrorFrom(response, await readErrorBody(response), secret), response)
}

/** The error of an answer whose body has been read. `secret` never appears in its message. */
export function upstreamErrorFrom (
  response: Pick<UpstreamResponse, 'status' | 'headers'>, body: unknown, secret: string | null
): UpstreamError {
  const retryAfterMs = retryAfterMsOf(response.headers) ?? retryDelayMs(body)
  const first = Array.isArray(body) ? body[0] : body
  const error = errorFromFields(isObject(first) ? first.error ?? first : null, response.status, secret)
  const shouldRetry = response.headers['x-should-retry'] === 'false' ? false : undefined
  const details = { ...error.details, status: response.status, retryAfterMs, shouldRetry }
  return new UpstreamError(error.kind, 'yes', error.message, details)
}

/**
 * The error of an error object or text; with status 200, the object's own code or status counts. `secret`
 * never appears in its message.
 */
export function errorFromFields (error: unknown, status: number, secret: string | null): UpstreamError {
  const fields = isObject(error) ? error : { message: error }
  const code = textOf(fields.code)
  const ownStatus = status === 200 ? Number(fields.code) || Number(fields.status) || undefined : status
  const said = messageIn(fields)
  const unsaid = ownStatus === undefined
    ? 'The provider sent an error without a message.'
    : `The provider answered with status ${ownStatus}.`
  const message = said === null ? unsaid : masked(said, secret)
  const stated = { type: textOf(fields.type), param: textOf(fields.param), code }
  const details = ownStatus === undefined ? stated : { status: ownStatus, ...stated }
  const kind = isAboutKey(fields, message) ? 'auth' : kindOf(ownStatus ?? 502, code ?? details.type)
  return new UpstreamError(kind, 'yes', message.slice(0, 2000), details)
}

/**
 * The message of an error object, null when it has none: `message`, or `detail` as text or as FastAPI's list
 * of invalid fields; and what OpenRouter passes on from the provider behind it, in `metadata.raw`.
 */
function messageIn ({ message, detail, metadata }: JsonObject): string | null {
  const own = isObject(message) ? messageIn(message) : textOf(message) ?? detailText(detail)
  const behind = isObject(metadata) ? textOf(metadata.raw) : null
  return behind === null || behind === own ? own : `${own ?? 'The provider failed.'} ${behind}`
}

/** FastAPI's list is `[{loc: ['body', 'top_p'], msg}]`. */
function detailText (detail: unknown): string | null {
  if (!Array.isArray(detail)) return textOf(detail)
  const lines = detail.filter(isObject).map(({ loc, msg }) =>
    `${Array.isArray(loc) ? loc.join('.') : ''}: ${textOf(msg) ?? ''}`)
  return lines.length === 0 ? null : lines.join('; ')
}

/** Some providers report a wrong key as a bad request, in words or as google.rpc.ErrorInfo. */
function isAboutKey ({ details }: JsonObject, message: string): boolean {
  const all: unknown[] = Array.isArray(details) ? details : []
  const isInvalid = all.some(detail => isObject(detail) && detail.reason === 'API_KEY_INVALID')
  return isInvalid || /^incorrect api key provided/i.test(message)
}

const kindByCode: Readonly<Record<string, UpstreamErrorKind>> = {
  content_policy_violation: 'moderated',
  content_filter: 'moderated',
  moderation_blocked: 'moderated',
  insufficient_quota: 'quota',
  credit_balance_exhausted: 'quota',
  invalid_api_key: 'auth',
  model_not_found: 'not_found',
  rate_limit_exceeded: 'rate',
  rate_limit_error: 'rate',
  server_is_overloaded: 'overloaded',
  overloaded_error: 'overloaded'
}

function kindOf (status: number, code: string | null): UpstreamErrorKind {
  return (code === null ? undefined : ownMember(kindByCode, code)) ?? kindByCommonStatus[status] ?? 'bad_reply'
}

const textOf = (value: unknown): string | null => isText(value) ? value : null
