import fp from 'fastify-plugin'
import { createDownloader } from '../../services/media/download.ts'
import type { Download } from '../../services/media/media.ts'
import { createProviders, type Providers } from '../../services/providers/registry.ts'
import { Deadlines } from '../../services/shared/timers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The connections to the providers of the running configuration. */
    providers: Providers
    /** Downloads a URL from a client or provider. */
    download: Download
  }
}

interface ProvidersOptions { trustedOrigins: readonly string[] }

/**
 * Provides the providers, and downloads from public addresses, trusted origins and the provider's origin.
 */
export default fp<ProvidersOptions>(async (app, { trustedOrigins }) => {
  const downloader = createDownloader({
    trustedOrigins: provider => {
      const own = providers.originOf(provider)
      return new Set(own === undefined ? trustedOrigins : [...trustedOrigins, own])
    }
  })
  const onError = (error: unknown) => app.log.error(error, 'a provider did not close')
  const providers = createProviders(new Deadlines(), onError, downloader.download, app.extensions?.protocols)
  app.decorate('providers', providers)
  app.decorate('download', downloader.download)
  app.addHook('onClose', async () => {
    await downloader.close()
    await providers.close()
  })
}, { name: 'providers', dependencies: ['extensions'] })
