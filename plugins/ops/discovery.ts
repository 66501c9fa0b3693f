import fp from 'fastify-plugin'
import { discoverLocal } from '../../services/config/environment/discover-local.ts'

interface DiscoveryOptions {
  /** Whether to look for model servers on this machine. */
  local: boolean
  /** How often providers are asked again for their models. */
  refreshMs?: number
}

const defaultRefreshMs = 10 * 60 * 1000

/** Finds out, once the server listens, which models the providers offer; never delays a start. */
export default fp<DiscoveryOptions>(async (app, { local, refreshMs = defaultRefreshMs }) => {
  const closing = new AbortController()

  async function discover (): Promise<void> {
    if (local) {
      const found = await discoverLocal()
      if (closing.signal.aborted) return
      app.models.addProviders(found)
    }
    await app.models.discover(closing.signal)
  }

  function refresh (): void {
    discover().catch(error => app.log.error(error, 'discovery failed'))
  }

  app.decorate('rediscover', refresh)
  const timer = setInterval(refresh, refreshMs).unref()
  app.addHook('onListen', async () => refresh())
  app.addHook('preClose', async () => {
    clearInterval(timer)
    closing.abort()
  })
}, { name: 'discovery', dependencies: ['models'] })

declare module 'fastify' {
  interface FastifyInstance {
    /** Asks the providers again, e.g. after the configuration has changed. */
    rediscover (): void
  }
}
