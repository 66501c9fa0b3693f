import fp from 'fastify-plugin'
import { Deadlines } from '../services/deadlines.ts'
import { createProviders, type Providers } from '../services/providers/connect.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The connections to the providers of the running configuration. */
    providers: Providers
  }
}

export default fp(async app => {
  const providers = createProviders(new Deadlines(), error => app.log.error(error, 'a provider did not close'))
  app.decorate('providers', providers)
  app.addHook('onClose', async () => { await providers.close() })
}, { name: 'providers' })
