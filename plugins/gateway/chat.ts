import fp from 'fastify-plugin'
import { createAutoModel } from '../../services/chat/auto-model.ts'
import { createCachedResponses } from '../../services/chat/cache/cached-responses.ts'
import { createChatCache } from '../../services/chat/cache/chat-cache.ts'
import { createChat } from '../../services/chat/serve-chat.ts'
import type { Chat } from '../../services/chat/types.ts'
import { createAbandonedCalls } from '../../services/requests/attempt.ts'
import { usdFromNano } from '../../services/shared/money.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case behind chat, legacy completions, messages and responses. */
    chat: Chat
  }
}

/** Offers the use case of chat, with a cache of responses unless `cacheBytes` is 0. */
export default fp<{ cacheBytes: number }>(async (app, { cacheBytes }) => {
  const abandonedCalls = createAbandonedCalls({ running: app.running })
  let abandonedNano = 0
  const { gauge, counter } = app.metrics
  gauge({ name: 'abandoned_calls', help: 'Provider calls that continue after their client disconnected.' },
    () => abandonedCalls.count)
  counter({ name: 'abandoned_cost_usd_total', help: 'Charges for responses whose client had disconnected, in US dollars.' },
    () => abandonedNano / 1e9)
  const { resolve } = app.requests.catalogue
  const responses = cacheBytes === 0 ? null : createCachedResponses(cacheBytes)
  const cache = responses === null ? null : createChatCache({ responses, resolve })
  const chat: Chat = createChat({
    ...app.requests,
    abandonedCalls,
    onAbandoned (id, { model, provider, costNano }) {
      abandonedNano += costNano ?? 0
      const costUsd = costNano === null ? null : usdFromNano(costNano)
      app.log.info({ reqId: id, model, provider, costUsd }, 'the client of an answer had left')
    },
    ledger: app.ledger,
    config: app.models.config,
    autoModel: createAutoModel(app.router, app.ledger),
    cache
  })
  app.decorate('chat', chat)
  // Before the connections and the ledger are closed.
  app.addHook('onClose', async () => { await chat.idle() })
}, { name: 'chat', dependencies: ['requests', 'models', 'ledger', 'routing', 'metrics', 'graceful-close'] })
