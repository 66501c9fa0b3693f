import fp from 'fastify-plugin'
import { createFeedback, type Feedback } from '../../services/routing/feedback/feedback.ts'
import { noOffsets, readOffsets } from '../../services/routing/feedback/rows.ts'
import { practise } from '../../services/routing/warm-up.ts'
import { createRouter, type Router } from '../../services/routing/router.ts'
import type { Periodic } from '../../services/shared/timers.ts'
import { periodically } from '../../services/shared/timers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Chooses the model of requests to `auto`. */
    router: Router
    /** What clients say of its choices. */
    routingFeedback: Feedback
  }
}

interface RoutingOptions {
  /** How soon what another process has learned from feedback is noticed. */
  refreshEveryMs?: number
}

export default fp<RoutingOptions>(async (app, { refreshEveryMs = 30_000 }) => {
  let offsets = noOffsets
  async function refresh (): Promise<void> {
    const found = await readOffsets(app.store)
    if (found.version !== offsets.version) offsets = found
  }
  const complain = (err: unknown) => app.log.warn({ err }, 'what was learned from feedback could not be read')
  await refresh().catch(complain)
  const work = periodically(() => refreshEveryMs, refresh, complain)
  app.addHook('onClose', async () => { await work.stop() })

  app.decorate('routingFeedback', createFeedback(app.store))
  app.decorate('router', createRouter({
    offer: {
      version: () => `${app.models.version()} ${offsets.version}`,
      models: () => app.models.list(),
      policies: () => app.models.config().policies,
      resolve: id => app.models.resolve(id)?.model.id,
      offsets: () => offsets
    },
    deployments: app.deployments
  }))

  let practice: Periodic | undefined
  app.addHook('onListen', async () => {
    practice = practise(app.router, { onError: err => app.log.warn({ err }, 'the router could not practise') })
  })
  app.addHook('preClose', async () => { await practice?.stop() })
}, { name: 'routing', dependencies: ['models', 'deployments', 'store'] })
