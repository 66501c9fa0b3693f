import { GatewayError, UpstreamError, type UpstreamErrorKind } from '../shared/errors.ts'
import { plainCode, redacted } from '../shared/redact.ts'

/**
 * Maps a failed provider call to the error for the client. The provider's message reaches the client only if
 * it is about the request, or all that an error with status 200 states; a rejected key or payment is the
 * operator's matter, and its message may quote the key.
 */
export function fromUpstream (error: UpstreamError): GatewayError {
  return errorOf[error.kind](error)
}

const maxMessageLength = 1000
const timedOut = { status: 504, code: 'upstream_timeout' }
const maxParamLength = 256

const errorOf: Readonly<Record<UpstreamErrorKind, (error: UpstreamError) => GatewayError>> = {
  bad_request: error => aboutTheRequest(400, error, plainCode(error.details.code)),
  moderated: error => aboutTheRequest(400, error, plainCode(error.details.code) ?? 'content_policy_violation'),
  too_large: error => aboutTheRequest(413, error, plainCode(error.details.code) ?? 'request_too_large'),
  not_found: error => error.details.missingUrl === undefined ? missingModel(error) : missingAddress(error),
  auth: ({ details }) => GatewayError.badGateway(
    `The provider rejected the gateway's credentials${statusOf(details.status)}.`, { code: 'upstream_auth' }),
  quota: ({ details }) => GatewayError.badGateway(
    `The gateway's account at the provider is out of credit${statusOf(details.status)}.`, { code: 'upstream_quota' }),
  rate: error => new GatewayError(429, 'requests', 'The provider\'s rate limit is reached. Please try again later.',
    { code: 'rate_limit_exceeded', headers: retryHeaders(error), cause: error }),
  overloaded: error => new GatewayError(503, 'service_unavailable_error',
    'The provider is overloaded. Please try again later.',
    { code: 'server_is_overloaded', headers: retryHeaders(error), cause: error }),
  timeout: error => error.details.ranOut === true
    ? GatewayError.badGateway(error.message, { ...timedOut, headers: { 'x-should-retry': 'false' }, cause: error })
    : GatewayError.badGateway('The provider did not respond in time.', { ...timedOut, cause: error }),
  network: error => GatewayError.badGateway(error.sent === 'yes'
    ? 'The connection to the provider broke.'
    : 'The provider cannot be reached.', { code: 'upstream_unreachable', cause: error }),
  bad_reply: error => GatewayError.badGateway(failureOf(error), { code: 'upstream_bad_reply', cause: error }),
  aborted: error => new GatewayError(499, 'invalid_request_error', 'The request was cancelled by the client.',
    { code: 'request_cancelled', cause: error })
}

function missingModel ({ details: { cause } }: UpstreamError): GatewayError {
  const message = 'The provider does not serve this model.'
  return new GatewayError(404, 'invalid_request_error', message, { code: 'model_not_found', cause })
}

/** The log has the address, which clients need not know. */
function missingAddress (cause: UpstreamError): GatewayError {
  return GatewayError.badGateway('The gateway calls the provider at an address that does not exist (HTTP 404).',
    { code: 'upstream_address', cause })
}

/** In the provider's words, if it sent an error with status 200. */
function failureOf (error: UpstreamError): string {
  const { message, details: { status } } = error
  if (isFailure(status)) return `The provider failed${statusOf(status)}.`
  if (isInWords(error)) return `The provider failed: ${redacted(message, maxMessageLength)}`
  return 'The provider\'s response cannot be used.'
}

/** Whether the client gets a provider's words for a failure that has no status. */
export function isInWords (error: unknown): boolean {
  if (!(error instanceof UpstreamError) || error.kind !== 'bad_reply') return false
  return error.details.status === undefined && error.details.code !== undefined
}

function aboutTheRequest (status: number, error: UpstreamError, code: string | null): GatewayError {
  const { message, details } = error
  const param = details.param == null ? null : redacted(details.param, maxParamLength)
  const words = redacted(message, maxMessageLength) || 'The provider rejected the request.'
  return new GatewayError(status, 'invalid_request_error', words, { param, code })
}

/**
 * OpenAI's clients read `retry-after-ms` first; all others read whole seconds. `x-should-retry` stops the
 * SDKs after one such wait, so that their call takes as long as the provider requested.
 */
function retryHeaders ({ details }: UpstreamError): Record<string, string> {
  const ms = Math.max(0, Math.ceil(details.retryAfterMs ?? defaultRetryAfterMs))
  const headers = { 'retry-after': String(Math.max(1, Math.ceil(ms / 1000))), 'retry-after-ms': String(ms) }
  return details.hasWaited === true ? { ...headers, 'x-should-retry': 'false' } : headers
}

const defaultRetryAfterMs = 1000

const isFailure = (status: number | undefined): boolean => status !== undefined && status >= 400

const statusOf = (status: number | undefined): string => status === undefined ? '' : ` (HTTP ${status})`
