import fp from 'fastify-plugin'
import { createGenerations } from '../../services/images/generations.ts'
import { createImages, type Images } from '../../services/images/serve-images.ts'
import { usdFromNano } from '../../services/shared/money.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case behind images. */
    images: Images
  }
}

/** Offers the use case of images. */
export default fp(async app => {
  let lateNano = 0
  app.metrics.counter({
    name: 'late_images_cost_usd_total', help: 'Cost of images whose client had disconnected, in US dollars.'
  }, () => lateNano / 1e9)
  const generations = createGenerations({
    store: app.store,
    node: app.ledger.node,
    takeoverMs: app.models.config().video.takeoverAfterMs,
    isDraining: app.isDraining,
    reportSuspended: app.ledger.reportSuspended,
    onError: error => app.log.error(error, 'a generation of images could not be written')
  })
  const images = createImages({
    ...app.requests,
    config: app.models.config,
    media: app.media,
    download: app.download,
    generations,
    onCopyFailure (fault, err) {
      app.countCopyFailure({ kind: 'image', fault: fault === 'store' ? 'media_store' : 'provider' })
      app.log[fault === 'store' ? 'error' : 'warn']({ err, fault }, 'an image could not be copied')
    },
    onLost: error => app.log.error(error, 'an image could not be stored'),
    onLate: ({ model, provider, images, costNano }, id) => {
      lateNano += costNano ?? 0
      app.log.info({ reqId: id, model, provider, images, costUsd: usdFromNano(costNano ?? 0) }, 'the client of images had disconnected')
    }
  })
  app.decorate('images', images)
  // Before the connections and the ledger are closed.
  app.addHook('onClose', async () => { await images.close() })
}, { name: 'images', dependencies: ['graceful-close', 'requests', 'models', 'media', 'providers', 'metrics', 'store', 'ledger'] })
