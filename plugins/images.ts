import fp from 'fastify-plugin'
import { createIds } from '../services/ids.ts'
import { createImages, type Images } from '../services/images/images.ts'
import { usdFromNano } from '../services/money.ts'

declare module 'fastify' {
  interface FastifyInstance {
    images: Images
  }
}

/** Offers the use case of making images to the routes. */
export default fp(async app => {
  const images = createImages({
    catalogue: { resolve: id => app.models.resolve(id), provider: id => app.providers.get(id) },
    ledger: app.ledger,
    media: app.media,
    download: app.download,
    newId: createIds('hold_'),
    onError: error => app.log.error(error, 'an image or its booking was lost'),
    onLate: ({ model, provider, images, costNano }, id) => {
      app.log.info({ id, model, provider, images, costUsd: usdFromNano(costNano ?? 0) }, 'images for a client that left')
    }
  })
  app.decorate('images', images)
  // Before the connections are closed and the ledger is.
  app.addHook('onClose', async () => { await images.close() })
}, { name: 'images', dependencies: ['models', 'providers', 'ledger', 'media', 'download', 'chat', 'base-url'] })
