import { UpstreamError, type UpstreamErrorKind } from '../../shared/errors.ts'
import { isObject, isText, ownMember } from '../../shared/json.ts'
import { masked, parseBounded, readErrorBody, retryAfterMsOf } from '../upstream/read-response.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { kindByStatus } from '../upstream/status-kinds.ts'
import type { Frame } from './frames.ts'

/** The error of a response whose status is not 200; reads the body. `secret` never appears in its message. */
export async function readBedrockError (
  response: UpstreamResponse, secret: string | null
): Promise<UpstreamError> {
  const { status, headers } = response
  const body = await readErrorBody(response)
  const type = typeOf(headers['x-amzn-errortype']) ?? typeOf(isObject(body) ? body.__type : null)
  return toError({ type, message: messageIn(body), status, secret, retryAfterMs: retryAfterMsOf(headers) })
}

/** The error in a frame of a stream; null: it is an event. */
export function bedrockErrorIn ({ headers, payload }: Frame, secret: string | null): UpstreamError | null {
  if (headers[':message-type'] === 'event' || headers[':message-type'] === undefined) return null
  const type = typeOf(headers[':exception-type'] ?? headers[':error-code'])
  const body = payload.length === 0 ? null : parsed(payload)
  const message = messageIn(body) ?? headers[':error-message'] ?? null
  const status = isObject(body) ? body.originalStatusCode : null
  return toError({ type, message, status: typeof status === 'number' ? status : null, secret })
}

const aboutCredentials = /^(ExpiredToken|UnrecognizedClient|InvalidClientTokenId|InvalidSignature|IncompleteSignature)/

/** Whether AWS refuses the credentials themselves, so that others may be accepted. */
export function isAboutCredentials ({ details: { type } }: UpstreamError): boolean {
  return aboutCredentials.test(type ?? '')
}

interface Failure {
  type: string | null
  message: string | null
  /** Null: within a stream. */
  status: number | null
  secret: string | null
  retryAfterMs?: number | undefined
}

function toError ({ type, message, status, secret, retryAfterMs }: Failure): UpstreamError {
  // The message about a wrong signature quotes the request with its session token.
  const said = message === null || aboutCredentials.test(type ?? '')
    ? status === null ? `The provider failed (${type ?? 'unknown'}).` : `The provider answered with status ${status}.`
    : masked(message, secret)
  const kind = kindOf(type, said, status)
  const isTooLong = kind === 'bad_request' && tooLong.test(said)
  return new UpstreamError(kind, 'yes', said.slice(0, 2000), {
    status: status ?? 502,
    retryAfterMs,
    type,
    code: isTooLong ? 'context_length_exceeded' : null,
    param: isTooLong ? 'messages' : null
  })
}

const tooLong = /input is too long|prompt is too long|exceed context limit|too many input tokens/i
/** Refusals that concern one model: it is not in this region, not enabled, or needs an inference profile. */
const noModel = /access to the model|model identifier|on-demand throughput|end of its life|not authorized to invoke/i

const filtered = /blocked by our content|content filters?|responsible ai/i

/** Source: @aws-sdk/client-bedrock-runtime 3.1164.0, models/errors; AWS, "Common error types". */
const kinds: Readonly<Record<string, UpstreamErrorKind>> = {
  AccessDeniedException: 'auth',
  ExpiredTokenException: 'auth',
  IncompleteSignature: 'auth',
  InvalidClientTokenId: 'auth',
  InvalidSignatureException: 'auth',
  MissingAuthenticationToken: 'auth',
  UnrecognizedClientException: 'auth',
  ConflictException: 'bad_request',
  ValidationException: 'bad_request',
  ResourceNotFoundException: 'not_found',
  ServiceQuotaExceededException: 'rate',
  ThrottlingException: 'rate',
  TooManyRequestsException: 'rate',
  ModelNotReadyException: 'overloaded',
  ServiceUnavailableException: 'overloaded',
  ModelTimeoutException: 'timeout',
  InternalServerException: 'bad_reply',
  ModelErrorException: 'bad_reply',
  ModelStreamErrorException: 'bad_reply'
}

function kindOf (type: string | null, message: string, status: number | null): UpstreamErrorKind {
  const kind = ownMember(kinds, type ?? '') ?? kindByStatus[status ?? 0] ?? 'bad_reply'
  if ((kind === 'auth' || kind === 'bad_request') && noModel.test(message)) return 'not_found'
  return kind === 'bad_request' && filtered.test(message) ? 'moderated' : kind
}

/** `ThrottlingException` of `ThrottlingException:http://…`, `com.amazon#ThrottlingException` and the like. */
function typeOf (text: unknown): string | null {
  if (!isText(text)) return null
  const name = text.slice(text.lastIndexOf('#') + 1).split(':', 1)[0] ?? ''
  return name.charAt(0).toUpperCase() + name.slice(1)
}

function messageIn (body: unknown): string | null {
  const said = isObject(body) ? body.message ?? body.Message : null
  return isText(said) ? said : null
}

function parsed (payload: Buffer): unknown {
  try {
    return parseBounded(payload.toString())
  } catch {
    return null
  }
}
