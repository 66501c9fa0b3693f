import { MessagesError, type ErrorKind } from '../../schemas/anthropic/error.ts'
import type { GatewayError } from '../shared/errors.ts'
import { serializerOf } from './serializer.ts'

/** The error shape of an API: OpenAI's, the Messages API's, or by the version header of the request. */
export type ErrorShape = 'openai' | 'messages' | 'by-version'

interface ShapedRequest {
  url: string
  headers: Readonly<Record<string, unknown>>
  routeOptions?: { url?: string | undefined, config?: { errorShape?: ErrorShape } }
}

/** The header that clients of the Messages API send with every request. */
export const versionHeaderName = 'anthropic-version'

/** Whether a request uses the Messages API: by its route, or by its headers if the route serves two APIs. */
export function speaksMessages ({ url, headers, routeOptions }: ShapedRequest): boolean {
  const shape = routeOptions?.url === undefined ? shapeWithoutRoute(url) : routeOptions.config?.errorShape
  return shape === 'messages' || (shape === 'by-version' && headers[versionHeaderName] !== undefined)
}

function shapeWithoutRoute (url: string): ErrorShape {
  return /^[^?]*\/v1\/messages/.test(url) ? 'messages' : 'by-version'
}

type Failure = Pick<GatewayError, 'status' | 'code' | 'message'>

const kinds: Readonly<Record<number, ErrorKind>> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  408: 'timeout_error',
  409: 'conflict_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error'
}

/** The status of an error in that API, which has a separate one for overload. */
export function messagesStatus ({ status, code }: Failure): number {
  return code === 'server_is_overloaded' ? 529 : status
}

/** The body of an error response, and the data of the event `error`. Source: docs.anthropic.com, "Errors". */
export function toMessagesError (error: Failure, requestId: string): MessagesError {
  const status = messagesStatus(error)
  const type = kinds[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const { message, code } = error
  const details = code === null ? {} : { details: { error_code: code } }
  return { type: 'error', error: { type, message, ...details }, request_id: requestId }
}

const serialize = serializerOf(MessagesError)

/** The same as JSON, with only the fields of its schema. */
export function messagesErrorText (error: Failure, requestId: string): string {
  return serialize(toMessagesError(error, requestId))
}
