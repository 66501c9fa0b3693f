import fp from 'fastify-plugin'
import { createIds } from '../../services/shared/ids.ts'
import { createImages, type Images } from '../../services/images/images.ts'
import { usdFromNano } from '../../services/shared/money.ts'

declare module 'fastify' {
  interface FastifyInstance {
    images: Images
  }
}

/** Offers the use case of making images to the routes. */
export default fp(async app => {
  let lateNano = 0
  app.metrics.counter({ name: 'late_images_cost_usd_total', help: 'What images cost whose clients had left, in US dollars.' },
    () => lateNano / 1e9)
  const images = createImages({
    catalogue: { resolve: id => app.models.resolve(id), provider: id => app.providers.get(id) },
    deployments: app.deployments,
    ledger: app.ledger,
    media: app.media,
    download: app.download,
    newId: createIds('hold_'),
    onError: error => app.log.error(error, 'an image or its booking was lost'),
    onLate: ({ model, provider, images, costNano }, id) => {
      lateNano += costNano ?? 0
      app.log.info({ id, model, provider, images, costUsd: usdFromNano(costNano ?? 0) }, 'images for a client that left')
    }
  })
  app.decorate('images', images)
  // Before the connections are closed and the ledger is.
  app.addHook('onClose', async () => { await images.close() })
}, {
  name: 'images',
  dependencies: ['models', 'providers', 'deployments', 'ledger', 'media', 'download', 'metrics']
})
