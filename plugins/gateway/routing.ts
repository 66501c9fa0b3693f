import fp from 'fastify-plugin'
import { createUnmetParameters } from '../../services/chat/unmet-parameters.ts'
import { warmUpRouter } from '../../services/routing/warm-up.ts'
import { createRouter, type Router } from '../../services/routing/router.ts'
import type { Periodic } from '../../services/shared/timers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Selects the models for requests to `auto`. */
    router: Router
  }
}

/** What the JIT has compiled serves all gateways of this process. */
let isWarm = false

export default fp(async app => {
  app.decorate('router', createRouter({
    catalogue: {
      version: () => app.models.version(),
      models: () => app.models.list(),
      policies: () => app.models.config().policies,
      resolve: id => app.models.resolve(id)?.model.id,
      isSandbox: id => app.models.config().providers.some(provider => provider.id === id && provider.protocol === 'sandbox'),
      regionOf: id => app.providers.get(id)?.region ?? null,
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
}, { name: 'routing', dependencies: ['models', 'providers', 'deployments'] })
