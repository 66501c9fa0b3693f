import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import { conversationHeader, conversationOf } from '../../services/chat/auto-model.ts'
import { cacheHeader, readCacheWish } from '../../services/chat/cache/cache-control.ts'
import { overloaded } from '../../services/http/load.ts'
import { abortedWithClient } from '../../services/requests/abort.ts'
import { deadlineHeader, readDeadline } from '../../services/requests/deadline-header.ts'
import type { Incoming } from '../../services/requests/incoming.ts'

declare module 'fastify' {
  interface FastifyReply {
    /** What a use case needs to answer this request. Throws GatewayError 400 and 503. */
    incoming<Body> (this: { request: { body: Body } }): Incoming<Body>
  }
}

/** Describes a validated request of a key to the use cases. */
export default fp(async app => {
  app.decorateReply('incoming', function<Body> (this: FastifyReply & { request: { body: Body } }): Incoming<Body> {
    const { request, raw } = this
    const { body, jsonText, id, apiKey, headers, trace } = request
    if (wantsStream(body) && app.load.isFull('streams')) throw overloaded()
    const deadlineMs = readDeadline(headers[deadlineHeader])
    const abort = abortedWithClient(raw, app.running)
    const { signal } = abort
    return {
      request: body,
      text: jsonText,
      requestId: id,
      payer: { key: apiKey.id, chain: apiKey.chainAt(Date.now()) },
      mayUse: model => apiKey.mayUse(model),
      signal,
      giveUp: reason => abort.abort(reason),
      deadlineMs,
      conversation: conversationOf(headers[conversationHeader]),
      cache: readCacheWish(headers[cacheHeader]),
      trace,
      delivery: this.toDelivery(signal)
    }
  })
}, { name: 'incoming', dependencies: ['auth', 'json-body', 'overload', 'finished', 'drain', 'delivery'] })

function wantsStream (body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}
