import { GatewayError, UpstreamError, unreadableBody } from '../shared/errors.ts'
import { missingKey } from '../keys/errors.ts'
import { MediaRejected, MediaUnavailable } from '../media/errors.ts'
import { StoreUnavailable, type StoreProblem } from '../store/store.ts'
import { fromUpstream } from './upstream-errors.ts'
import { shownText } from '../shared/shown-text.ts'
import { quote, fromValidation, type SchemaError } from './validation.ts'

/** The parts of a request that its error messages need. */
export interface FailedRequest {
  headers: Record<string, unknown>
  body?: unknown
  query?: unknown
  params?: unknown
}

/** Maps anything thrown while a request is served to the error for its client. */
export function toGatewayError (error: unknown, request: FailedRequest = { headers: {} }): GatewayError {
  if (error instanceof GatewayError) return error
  if (error instanceof UpstreamError) return fromUpstream(error)
  if (error instanceof StoreUnavailable) {
    return GatewayError.unavailable(storeProblems[error.problem], { cause: error })
  }
  if (error instanceof MediaUnavailable) {
    return GatewayError.unavailable('The gateway cannot reach its media store. Please try again.', { cause: error })
  }
  if (error instanceof MediaRejected) {
    return GatewayError.badGateway('The provider\'s result cannot be used.', { code: 'upstream_bad_reply', cause: error })
  }
  if (!isServerFault(error)) return GatewayError.internal(error)
  if (error.validation !== undefined) return fromValidation(error.validation, refusedPart(error, request))
  const errorOfRequest = errorOfCode.get(error.code)
  if (errorOfRequest !== undefined) return errorOfRequest(request)
  if (error.statusCode >= 500) return GatewayError.internal(error)
  return new GatewayError(error.statusCode, 'invalid_request_error', error.message)
}

const storeProblems: Record<StoreProblem, string> = {
  unreachable: 'The gateway cannot reach its database. Please try again.',
  unusable: 'The gateway cannot use its database. Please try again later.',
  readOnly: 'The gateway\'s database cannot be written. Please try again later.',
  full: 'The disk of the gateway\'s database is full. Please try again later.',
  damaged: 'The gateway\'s database is damaged. Please try again later.',
  refused: 'The gateway\'s database rejects a statement. Please try again later.',
  busy: 'The gateway\'s database is locked by another process. Please try again.',
  locked: 'Another request is changing the same data. Please try again.',
  slow: 'The gateway\'s database did not respond in time. Please request less, or try again later.',
  crowded: 'Too many reports are running. Please try again later.',
  misplaced: 'The gateway has lost its database. Please try again later.'
}

/**
 * 404 for an unknown URL; `meant` is the right one. Source: the live service, with the code that its newer
 * gateways add.
 */
export function unknownUrl (method: string, path: string, meant: string | null = null): GatewayError {
  const hint = meant === null
    ? ''
    : ` (HINT: The base URL of this gateway ends with /v1. Perhaps you meant ${shown(meant)}.)`
  const message = `Invalid URL (${method} ${shown(path)})${hint}`
  return new GatewayError(404, 'invalid_request_error', message, { code: 'unknown_url' })
}

/** 405: the URL does not support this method; `allowed` are the methods it supports. */
export function methodNotSupported (method: string, path: string, allowed: readonly string[]): GatewayError {
  const message = `Not allowed to ${method} on ${shown(path)}. (HINT: Perhaps you meant to make a ` +
    `${allowed.join(' or ')} request instead.)`
  const headers = { allow: allowed.join(', ') }
  return new GatewayError(405, 'invalid_request_error', message, { code: 'method_not_supported', headers })
}

const maxShownPath = 200
const shown = (path: string): string => shownText(path, maxShownPath)

/** The errors of the HTTP framework; their 4xx messages are about the request and contain no secrets. */
interface ServerFault {
  code: string
  statusCode: number
  message: string
  validation?: SchemaError[]
  validationContext?: string
}

function isServerFault (error: unknown): error is ServerFault {
  return error instanceof Error &&
    'code' in error && typeof error.code === 'string' && error.code.startsWith('FST_') &&
    'statusCode' in error && typeof error.statusCode === 'number'
}

function refusedPart ({ validationContext }: ServerFault, request: FailedRequest): unknown {
  switch (validationContext) {
    case 'querystring': return request.query
    case 'params': return request.params
    case 'headers': return request.headers
    default: return request.body
  }
}

const errorOfCode = new Map<string, (request: FailedRequest) => GatewayError>(Object.entries({
  FST_ERR_CTP_BODY_TOO_LARGE: () => new GatewayError(413, 'invalid_request_error',
    'The request body is larger than this gateway accepts.', { code: 'request_too_large' }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers }: FailedRequest) => {
    const contentType = quote(headers['content-type'] ?? '')
    return GatewayError.invalidRequest(
      `Unsupported content type: '${contentType}'. This API method only accepts 'application/json' requests, but ` +
      `you specified the header 'Content-Type: ${contentType}'. Please try again with a supported content type.`,
      { code: 'unsupported_content_type' })
  },
  FST_ERR_CTP_EMPTY_JSON_BODY: () => GatewayError.invalidRequest(unreadableBody),
  FST_ERR_CTP_INVALID_JSON_BODY: () => GatewayError.invalidRequest(unreadableBody),
  // OpenAI reports a credential of another scheme as absent.
  FST_BEARER_AUTH_MISSING_AUTHORIZATION_HEADER: missingKey,
  FST_BEARER_AUTH_INVALID_AUTHORIZATION_HEADER: missingKey,
  FST_ERR_BAD_URL: () => GatewayError.invalidRequest('The URL is not valid percent-encoding.', { code: 'invalid_url' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new GatewayError(404, 'invalid_request_error',
    'A part of the URL is too long.', { code: 'unknown_url' })
}))
