import fp from 'fastify-plugin'
import { createAutoModel } from '../../services/chat/auto-model.ts'
import { createCachedAnswers } from '../../services/chat/cache/answers.ts'
import { createCachedChat } from '../../services/chat/cache/cached-chat.ts'
import { createChat, type Chat } from '../../services/chat/chat.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case behind chat and legacy completions. */
    chat: Chat
  }
}

/** Offers the use case of chat, with a cache of answers unless `cacheBytes` is 0. */
export default fp<{ cacheBytes: number }>(async (app, { cacheBytes }) => {
  const chat = createChat({
    ...app.requests,
    ledger: app.ledger,
    config: app.models.config,
    autoModel: createAutoModel(app.router, app.routingFeedback, app.ledger)
  })
  const { resolve } = app.requests.catalogue
  app.decorate('chat', cacheBytes === 0
    ? chat
    : createCachedChat({ chat, answers: createCachedAnswers(cacheBytes), resolve }))
}, { name: 'chat', dependencies: ['requests', 'models', 'ledger', 'routing'] })
