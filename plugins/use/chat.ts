import fp from 'fastify-plugin'
import { requestsDefaults } from '../../schemas/config/requests.ts'
import { createKeptAnswers } from '../../services/chat/cache/answers.ts'
import { createCachedChat } from '../../services/chat/cache/cached-chat.ts'
import { createChat, type Chat } from '../../services/chat/chat.ts'
import { createSelector } from '../../services/chat/auto-model.ts'
import { Deadlines } from '../../services/shared/deadline-timer.ts'
import { createMeter } from '../../services/billing/charge.ts'
import { createIds } from '../../services/shared/ids.ts'

declare module 'fastify' {
  interface FastifyInstance {
    chat: Chat
  }
}

/** Offers the chat use case to the routes. */
export default fp<{ cacheBytes: number }>(async (app, { cacheBytes }) => {
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
}, { name: 'chat', dependencies: ['models', 'providers', 'deployments', 'routing', 'ledger'] })
