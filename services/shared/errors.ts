import { shownText } from './shown-text.ts'

/** The body of every error response. Source: OpenAI specification, schema `ErrorResponse`. */
export interface ErrorBody {
  error: { message: string, type: string, param: string | null, code: string | null }
}

interface Details {
  param?: string | null
  code?: string | null
  headers?: Record<string, string>
  cause?: unknown
}

/** Longest text of a message, which may quote a client or a provider. */
const maxMessageLength = 4_000
/** Longest quoted name of a model or field. */
const maxShownName = 256

/** An error response: HTTP status with OpenAI's `type`, `param` and `code`. */
export class GatewayError extends Error {
  readonly status: number
  readonly type: string
  readonly param: string | null
  readonly code: string | null
  readonly headers: Record<string, string>

  constructor (status: number, type: string, message: string, details: Details = {}) {
    super(shownText(message, maxMessageLength), { cause: details.cause })
    this.name = 'GatewayError'
    this.status = status
    this.type = type
    this.param = details.param == null ? null : shownText(details.param, maxShownName)
    this.code = details.code ?? null
    this.headers = details.headers ?? {}
  }

  /** The same error with the client's name for the field. */
  withParam (param: string, message: string): GatewayError {
    const { status, type, code, headers, cause } = this
    return new GatewayError(status, type, message, { param, code, headers, cause })
  }

  toBody (): ErrorBody {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } }
  }

  /** 400: the request is invalid. */
  static invalidRequest (message: string, details: Details = {}): GatewayError {
    return new GatewayError(400, 'invalid_request_error', message, details)
  }

  /** 400: a field has a wrong value; `why` follows "Invalid 'field': " and has no full stop. */
  static invalidValue (param: string, why: string, cause?: unknown): GatewayError {
    return GatewayError.invalidRequest(`Invalid '${param}': ${why}.`, { param, code: 'invalid_value', cause })
  }

  /** 400: a field or its value is not supported; `why` is a sentence. */
  static unsupportedParameter (param: string, why: string): GatewayError {
    return GatewayError.invalidRequest(why, { param, code: 'unsupported_parameter' })
  }

  /** 401: the key is missing, malformed, unknown, expired or revoked. */
  static unauthorized (message: string, code: string | null = 'invalid_api_key'): GatewayError {
    const headers = { 'www-authenticate': 'Bearer' }
    return new GatewayError(401, 'invalid_request_error', message, { code, headers })
  }

  /** 404: the model does not exist, or this key may not use it. `hint` is a sentence after that, or empty. */
  static modelNotFound (model: string, hint = ''): GatewayError {
    const name = shownText(model, maxShownName)
    const message = `The model \`${name}\` does not exist or you do not have access to it. ${hint}`.trimEnd()
    return new GatewayError(404, 'invalid_request_error', message, { code: 'model_not_found' })
  }

  /** 404 of `GET /v1/models/:id`. `hint` is a sentence after the message, or empty. */
  static unknownModel (model: string, hint = ''): GatewayError {
    const message = `The model '${shownText(model, maxShownName)}' does not exist${hint === '' ? '' : `. ${hint}`}`
    return new GatewayError(404, 'invalid_request_error', message, { param: 'model', code: 'model_not_found' })
  }

  /** 503: the gateway cannot serve the request now; the client may retry after the given time. */
  static unavailable (message: string, { retryAfterS = 1, code = 'service_unavailable', cause }:
  { retryAfterS?: number, code?: string, cause?: unknown } = {}): GatewayError {
    const headers = { 'retry-after': String(Math.max(1, Math.ceil(retryAfterS))) }
    return new GatewayError(503, 'service_unavailable_error', message, { code, headers, cause })
  }

  /** 503: the node is stopping; `advice` says what a client may do. */
  static shuttingDown (advice = ''): GatewayError {
    return GatewayError.unavailable(`The gateway is shutting down.${advice}`, { code: 'shutting_down' })
  }

  /** 502 or 504: the provider failed or did not respond in time. */
  static badGateway (message: string, details: Details & { status?: number } = {}): GatewayError {
    return new GatewayError(details.status ?? 502, 'server_error', message, details)
  }

  /**
   * 504: the deadline of the request has passed. OpenAI's SDKs do not repeat it, because it may have been
   * charged.
   */
  static deadlineExceeded (limitMs: number): GatewayError {
    const message = `The request was not answered within its deadline of ${limitMs} ms.`
    const headers = { 'x-should-retry': 'false' }
    return new GatewayError(504, 'server_error', message, { code: 'deadline_exceeded', headers })
  }

  /** 504: a stream was ended at its deadline. */
  static streamDeadlineExceeded (limitMs: number): GatewayError {
    const message = `The stream was still running at its deadline of ${limitMs} ms, and was ended.`
    return new GatewayError(504, 'server_error', message, { code: 'deadline_exceeded' })
  }

  /** 500: a fault of the gateway; the cause is logged, never sent. */
  static internal (cause: unknown): GatewayError {
    return new GatewayError(500, 'server_error', 'The server had an error while processing your request.', { cause })
  }
}

/** The kind of a provider's failure, independent of its wording. */
export type UpstreamErrorKind =
  'bad_request' | 'not_found' | 'moderated' | 'too_large' | 'auth' | 'quota' | 'rate' | 'overloaded' |
  'timeout' | 'network' | 'bad_reply' | 'aborted'

/** Whether the provider may have received the request; decides whether it may be retried. */
export type Sent = 'no' | 'maybe' | 'yes'

interface UpstreamDetails {
  status?: number
  retryAfterMs?: number
  /** False if the provider reports that a retry would fail; absent if it does not say. */
  shouldRetry?: boolean
  /** A time limit of the gateway ended the call, while the provider may have been working on it. */
  ranOut?: boolean
  /** A wait of `retryAfterMs` did not help. */
  hasWaited?: boolean
  /** The address that was called, if the provider has nothing there: its `base_url` is wrong. */
  missingUrl?: string
  /** The provider's `type`, `param` and `code`, if its error has OpenAI's shape. */
  type?: string | null
  param?: string | null
  code?: string | null
  cause?: unknown
}

/** A failed call of a provider. Thrown by adapters; mapped to a GatewayError at the edge. */
export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind
  readonly sent: Sent
  readonly details: UpstreamDetails

  constructor (kind: UpstreamErrorKind, sent: Sent, message: string, details: UpstreamDetails = {}) {
    super(message, { cause: details.cause })
    this.name = 'UpstreamError'
    this.kind = kind
    this.sent = sent
    this.details = details
  }
}

/** The message for a body that is missing or not JSON. */
export const unreadableBody = 'We could not parse the JSON body of your request. (HINT: This likely means you ' +
  'aren\'t using your HTTP library correctly. The API expects a JSON payload, but what was sent was not valid JSON.)'
