import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { answerThenDrain } from '../../services/http/graceful-close/drain.ts'
import { errorAnswer } from '../../services/http/error-answers.ts'
import { errorText } from '../../services/http/error-text.ts'
import { messagesErrorText, messagesStatus, speaksMessages } from '../../services/http/messages-error.ts'
import { recordEnding, type Trace } from '../../services/requests/trace.ts'

/** Answers all that goes wrong in OpenAI's shape, or in that of the route. */
export default fp(async app => {
  app.setErrorHandler((error, request, reply) => answer(error, request, reply))
}, { name: 'errors', dependencies: ['trace'] })

/** For the server option `frameworkErrors`: answers URLs that cannot even be routed. */
export function frameworkErrors (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  answer(error, request, reply)
}

function answer (thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = errorAnswer(thrown, request)
  // Requests that are refused before they are known have no trace.
  const { trace }: { trace?: Trace } = request
  if (trace !== undefined) recordEnding(trace, thrown, error.code)
  if (error.status >= 500) {
    request.log[error.status === 500 ? 'error' : 'warn']({ err: error.cause ?? error }, error.message)
  }
  const isMessages = speaksMessages(request)
  const text = isMessages ? messagesErrorText(error, request.id) : errorText(error)
  if (isMessages) reply.header('request-id', request.id)
  reply.code(isMessages ? messagesStatus(error) : error.status).headers(error.headers).type('application/json; charset=utf-8')
  if (trace !== undefined && trace.attempts > 0) reply.header('x-tollgate-attempts', trace.attempts)
  // Fastify closes the connection for every body that it cannot use, also for one that was read to its end.
  if (reply.getHeader('connection') !== 'close') return reply.send(text)
  if (request.raw.readableEnded) {
    if (error.headers['connection'] === undefined) reply.removeHeader('connection')
    return reply.send(text)
  }
  return reply.header('content-length', Buffer.byteLength(text)).send(answerThenDrain(text, request.raw))
}
