import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { respondThenDrain } from '../../services/http/graceful-close/drain.ts'
import { toGatewayError } from '../../services/http/to-gateway-error.ts'
import { errorText } from '../../services/http/error-text.ts'
import { messagesErrorText, messagesStatus, speaksMessages } from '../../services/http/messages-error.ts'
import { recordEnding, type RequestRecord } from '../../services/requests/request-record.ts'

/** Sends every error in OpenAI's shape, or in the shape of the route. */
export default fp(async app => {
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply))
}, { name: 'errors', dependencies: ['request-record'] })

/** The server option `frameworkErrors`: responds to URLs that cannot be routed. */
export function frameworkErrors (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  sendError(error, request, reply)
}

function sendError (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toGatewayError(thrown, request)
  // Requests that are rejected before they are parsed have no record.
  const { record }: { record?: RequestRecord } = request
  if (record !== undefined) recordEnding(record, thrown, error.code)
  if (error.status >= 500) {
    request.log[error.status === 500 ? 'error' : 'warn']({ err: error.cause ?? error }, error.message)
  }
  const isMessages = speaksMessages(request)
  const text = isMessages ? messagesErrorText(error, request.id) : errorText(error)
  if (isMessages) reply.header('request-id', request.id)
  reply.code(isMessages ? messagesStatus(error) : error.status).headers(error.headers).type('application/json; charset=utf-8')
  if (record !== undefined && record.attempts > 0) reply.header('x-tollgate-attempts', record.attempts)
  // Fastify closes the connection for every invalid body, even if it was read completely.
  if (reply.getHeader('connection') !== 'close') return reply.send(text)
  if (request.raw.readableEnded) {
    if (error.headers['connection'] === undefined) reply.removeHeader('connection')
    return reply.send(text)
  }
  return reply.header('content-length', Buffer.byteLength(text)).send(respondThenDrain(text, request.raw))
}
