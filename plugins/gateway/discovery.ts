import fp from 'fastify-plugin'
import { unpricedAdvice } from '../../services/http/startup-banner.ts'
import { discoverLocal } from '../../services/config/environment/discover-local.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Lists the models of providers again, e.g. after the configuration has changed. */
    rediscover (): void
  }
}

interface DiscoveryOptions {
  /** Whether to look for model servers on this machine. */
  local: boolean
  /** How often to list the models of providers. */
  refreshMs?: number
}

const defaultRefreshMs = 10 * 60 * 1000
const shownModels = 50

/**
 * Lists the models of providers periodically, first when the server listens, so that its start is not
 * delayed.
 */
export default fp<DiscoveryOptions>(async (app, { local, refreshMs = defaultRefreshMs }) => {
  const closing = new AbortController()

  async function discover (): Promise<void> {
    if (local) {
      const found = await discoverLocal()
      if (closing.signal.aborted) return
      app.models.addProviders(found)
    }
    await app.models.discover(closing.signal)
    reportUnpriced(app.models.unpriced())
  }

  let reported = ''

  /** Once for the same models. */
  function reportUnpriced (models: readonly string[]): void {
    if (models.join() === reported || closing.signal.aborted) return
    reported = models.join()
    if (models.length === 0) return
    app.log.warn({ count: models.length, models: models.slice(0, shownModels) }, unpricedAdvice)
  }

  function refresh (): void {
    discover().catch(error => app.log.error(error, 'models of providers were not discovered'))
  }

  app.decorate('rediscover', refresh)
  const timer = setInterval(refresh, refreshMs).unref()
  app.addHook('onListen', async () => refresh())
  app.addHook('preClose', async () => {
    clearInterval(timer)
    closing.abort()
  })
}, { name: 'discovery', dependencies: ['models'] })
