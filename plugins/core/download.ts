import fp from 'fastify-plugin'
import { createDownloader } from '../../services/media/download.ts'
import type { Download } from '../../services/media/media.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Fetches what clients and providers name, safely. */
    download: Download
  }
}

/** Lets use cases fetch files by address; a provider's own server is reached wherever it is. */
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
