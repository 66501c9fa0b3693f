import fp from 'fastify-plugin'
import { createUnmetParameters } from '../../services/chat/unmet-parameters.ts'
import { createFeedbackStore, type FeedbackStore } from '../../services/routing/feedback/store-feedback.ts'
import { noOffsets, readOffsets } from '../../services/routing/feedback/rows.ts'
import { warmUpRouter } from '../../services/routing/warm-up.ts'
import { createRouter, type Router } from '../../services/routing/router.ts'
import { claimChore } from '../../services/store/chores.ts'
import { periodically, type Periodic } from '../../services/shared/timers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Selects the models for requests to `auto`. */
    router: Router
    /** Scores of clients for routed requests. */
    routingFeedback: FeedbackStore
  }
}

/** What the JIT has compiled serves all gateways of this process. */
let isWarm = false

const pruneEveryMs = 3_600_000

interface RoutingOptions {
  /** How long scores of clients are kept. */
  keepFeedbackMs: number
  /** Interval of reading the offsets that another process fitted to feedback. */
  refreshEveryMs?: number
}

export default fp<RoutingOptions>(async (app, { keepFeedbackMs, refreshEveryMs = 30_000 }) => {
  let offsets = noOffsets
  async function refresh (): Promise<void> {
    const latest = await readOffsets(app.store)
    if (latest.version !== offsets.version) offsets = latest
  }
  const onError = (err: unknown) => app.log.warn({ err }, 'could not read the routing offsets from feedback')
  await refresh().catch(onError)
  const refreshing = periodically(() => refreshEveryMs, refresh, onError)

  const feedback = createFeedbackStore(app.store, keepFeedbackMs)
  app.decorate('routingFeedback', feedback)
  const pruning = periodically(() => pruneEveryMs, async () => {
    if (await claimChore(app.store, 'routing-feedback', pruneEveryMs)) await feedback.prune()
  }, err => app.log.warn({ err }, 'expired routing feedback could not be deleted'))
  app.addHook('onClose', async () => { await Promise.all([refreshing.stop(), pruning.stop()]) })
  app.decorate('router', createRouter({
    catalogue: {
      version: () => `${app.models.version()} ${offsets.version}`,
      models: () => app.models.list(),
      policies: () => app.models.config().policies,
      resolve: id => app.models.resolve(id)?.model.id,
      offsets: () => offsets,
      isSandbox: id => app.models.config().providers.some(provider => provider.id === id && provider.protocol === 'sandbox'),
      servesChat: app.models.servesChat,
      unmetParameters: createUnmetParameters(id => app.providers.get(id))
    },
    deployments: app.deployments
  }))

  let warmUp: Periodic | undefined
  app.addHook('onListen', async () => {
    if (isWarm) return
    warmUp = warmUpRouter(app.router, {
      onError: err => app.log.warn({ err }, 'the warm-up of the router failed'),
      onWarm () { isWarm = true }
    })
  })
  app.addHook('preClose', async () => { await warmUp?.stop() })
}, { name: 'routing', dependencies: ['models', 'providers', 'deployments', 'store'] })
