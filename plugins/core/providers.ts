import fp from 'fastify-plugin'
import { Deadlines } from '../../services/shared/deadline-timer.ts'
import { createProviders, type Providers } from '../../services/providers/registry.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The connections to the providers of the running configuration. */
    providers: Providers
  }
}

export default fp(async app => {
  const onError = (error: unknown) => app.log.error(error, 'a provider did not close')
  // Decorated later, because it asks the providers for their origins.
  const providers = createProviders(new Deadlines(), onError, (url, options) => app.download(url, options))
  app.decorate('providers', providers)
  app.addHook('onClose', async () => { await providers.close() })
}, { name: 'providers' })
