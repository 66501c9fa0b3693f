import fp from 'fastify-plugin'
import { periodically } from '../../services/shared/timers.ts'
import { claimChore } from '../../services/store/chores.ts'
import { createResponses, type Responses } from '../../services/apis/responses/responses.ts'
import { createStoredResponses, type ResponseRetention } from '../../services/apis/responses/stored-responses.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case behind `/v1/responses`. */
    responses: Responses
  }
}

const pruneEveryMs = 3_600_000

/**
 * Provides the Responses API, translated onto chat; responses are stored for `keepMs`, or not at all if 0.
 */
export default fp<ResponseRetention>(async (app, retention) => {
  const { store } = app
  const onError = (error: unknown): void => app.log.error(error, 'responses could not be stored or deleted')
  const stored = createStoredResponses(store, retention)
  app.decorate('responses', createResponses({
    chat: app.chat,
    stored,
    stores: retention.keepMs > 0,
    clock: store.clock,
    onError,
    modelIdOf: name => app.models.resolve(name)?.model.id
  }))
  const pruning = periodically(() => pruneEveryMs, async () => {
    if (await claimChore(store, 'responses', pruneEveryMs)) await stored.prune()
  }, onError)
  app.addHook('onClose', async () => { await pruning.stop() })
}, { name: 'responses', dependencies: ['chat', 'models', 'store'] })
