import { UpstreamError, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { masked, readErrorBody, retryAfterMsOf } from '../../upstream/answer-body.ts'
import type { Dialect, FinishReason } from './dialects.ts'
import { errorText } from './error-text.ts'
import { kindByCommonStatus } from '../../upstream/status-kinds.ts'
import type { Exchange } from '../../upstream/exchange.ts'

/** The finish reason of a choice in OpenAI's words; unknown ones pass. */
export function finishReasonOf (choice: unknown, dialect: Dialect): FinishReason | 'error' | unknown {
  const reason = isObject(choice) ? choice.finish_reason : undefined
  return typeof reason === 'string' ? dialect.finishReasons[reason] ?? reason : reason
}

/** The error that a body with status 200 carries, null when it carries none. */
export function upstreamErrorIn (body: JsonObject, dialect: Dialect): UpstreamError | null {
  const choices = Array.isArray(body.choices) ? body.choices : []
  if (body.error) return fromErrorObject(body.error, 200)
  if (!choices.some(choice => finishReasonOf(choice, dialect) === 'error')) return null
  return new UpstreamError('overloaded', 'yes', 'The provider stopped with an error.')
}

/** The error of an answer whose status is not 2xx; reads the body. `secret` never appears in its message. */
export async function readUpstreamError (exchange: Exchange, secret: string | null): Promise<UpstreamError> {
  return upstreamErrorFrom(exchange, await readErrorBody(exchange), secret)
}

/** The error of an answer whose body has been read. `secret` never appears in its message. */
export function upstreamErrorFrom (
  exchange: Pick<Exchange, 'status' | 'headers'>, body: unknown, secret: string | null
): UpstreamError {
  const retryAfterMs = retryAfterMsOf(exchange.headers)
  const said = Array.isArray(body) ? body[0] : body
  const error = fromErrorObject(isObject(said) ? said.error ?? said : null, exchange.status)
  const shouldRetry = exchange.headers['x-should-retry'] === 'false' ? false : undefined
  const details = { ...error.details, status: exchange.status, retryAfterMs, shouldRetry }
  return new UpstreamError(error.kind, 'yes', masked(error.message, secret), details)
}

function fromErrorObject (error: unknown, status: number): UpstreamError {
  const fields = isObject(error) ? error : { message: error }
  const code = textOf(fields.code)
  const ownStatus = status === 200 ? Number(fields.code) || Number(fields.status) || 502 : status
  const message = errorText(fields) ?? `The provider answered with status ${ownStatus}.`
  const details = { status: ownStatus, type: textOf(fields.type), param: textOf(fields.param), code }
  const kind = isAboutKey(fields, message) ? 'auth' : kindOf(ownStatus, code ?? details.type)
  return new UpstreamError(kind, 'yes', message.slice(0, 2000), details)
}

/** Some tell a wrong key as a bad request, in words or as google.rpc.ErrorInfo. */
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
  return (code === null ? undefined : kindByCode[code]) ?? kindByCommonStatus[status] ?? 'bad_reply'
}

function textOf (value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}
