import fp from 'fastify-plugin'
import { requestsDefaults } from '../../schemas/config/requests.ts'
import { createKeptAnswers } from '../../services/chat/cache/answers.ts'
import { createCachedChat } from '../../services/chat/cache/cached-chat.ts'
import { cacheHeader, readCacheWish } from '../../services/chat/cache/cache-control.ts'
import { abortedWithClient, type RequestAbort } from '../../services/requests/abort.ts'
import { createChat, type Chat } from '../../services/chat/chat.ts'
import { deadlineHeader, readDeadline } from '../../services/requests/deadline-header.ts'
import { conversationHeader, conversationOf, createSelector } from '../../services/chat/auto-model.ts'
import { Deadlines } from '../../services/shared/deadline-timer.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { createMeter } from '../../services/billing/charge.ts'
import { createIds } from '../../services/shared/ids.ts'
import { overloaded } from '../../services/http/load.ts'
import { Roster } from '../../services/shared/active-set.ts'
import type { Incoming } from '../../services/requests/incoming.ts'

declare module 'fastify' {
  interface FastifyInstance {
    chat: Chat
    /** What a use case is told about a request whose body has been validated as `Body`. */
    toIncoming<Body> (request: FastifyRequest & { body: Body }, reply: FastifyReply): Incoming<Body>
    /** Breaks off every request that is still being answered; the client is told why. */
    abortRequests (): void
  }
}

/** Offers the chat use case to the routes, and knows which requests are under way. */
export default fp<{ cacheBytes: number }>(async (app, { cacheBytes }) => {
  const running = new Roster<RequestAbort>()
  const meter = createMeter({
    ledger: app.ledger,
    newId: createIds('hold_'),
    onError: error => app.log.error(error, 'a request could not be booked')
  })
  const resolve = (id: string) => app.models.resolve(id)
  const chat = createChat({
    catalogue: { resolve, provider: id => app.providers.get(id) },
    limits: () => app.models.config().requests ?? requestsDefaults,
    deployments: app.deployments,
    deadlines: new Deadlines(),
    meter,
    selector: createSelector(app.router, app.routingFeedback, app.ledger),
    onFailure: (id, { provider, deployment: { model } }, { kind, sent, details: { status } }) => {
      app.log.warn({ id, provider: provider.id, model, kind, sent, status }, 'a call of a provider failed')
    }
  })
  const answers = cacheBytes === 0 ? null : createKeptAnswers(cacheBytes)
  app.decorate('chat', answers === null ? chat : createCachedChat({ chat, answers, resolve }))
  app.decorate('toIncoming', (request, reply) => {
    if (wantsStream(request.body) && app.load.isFull('streams')) throw overloaded()
    const deadlineMs = readDeadline(request.headers[deadlineHeader])
    const abort = abortedWithClient(reply.raw, running)
    const { signal } = abort
    return {
      request: request.body,
      text: request.jsonText,
      requestId: request.id,
      payer: { key: request.apiKey.id, chain: request.apiKey.chainAt(Date.now()) },
      mayUse: model => request.apiKey.mayUse(model),
      signal,
      giveUp: reason => abort.abort(reason),
      deadlineMs,
      conversation: conversationOf(request.headers[conversationHeader]),
      cache: readCacheWish(request.headers[cacheHeader]),
      trace: request.trace,
      delivery: reply.toDelivery(signal)
    }
  })
  app.decorate('abortRequests', () => {
    running.forEach(request => request.abort(GatewayError.unavailable('The gateway is shutting down.')))
  })
}, {
  name: 'chat',
  dependencies: [
    'models', 'providers', 'deployments', 'routing', 'ledger', 'delivery', 'json-body', 'overload'
  ]
})

function wantsStream (body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'stream' in body && body.stream === true
}
