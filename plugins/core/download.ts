import fp from 'fastify-plugin'
import { createDownloader } from '../../services/media/download.ts'
import type { Download } from '../../services/media/media.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Downloads a URL from a client or provider. */
    download: Download
  }
}

/**
 * Decorates `download`, which reaches public addresses, the trusted origins and the provider's own origin.
 */
export default fp<{ trustedOrigins: readonly string[] }>(async (app, { trustedOrigins }) => {
  const { download, close } = createDownloader({
    trustedOrigins: provider => {
      const own = app.providers.originOf(provider)
      return new Set(own === undefined ? trustedOrigins : [...trustedOrigins, own])
    }
  })
  app.decorate('download', download)
  app.addHook('onClose', close)
}, { name: 'download', dependencies: ['providers'] })
