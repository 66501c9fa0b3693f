import fp from 'fastify-plugin'
import { openBlobs } from '../../services/media/open.ts'
import { createSignatures, sharedSigningKey } from '../../services/media/signatures.ts'
import { createMediaStore, type SignedMedia } from '../../services/media/store.ts'
import { startSweeps } from '../../services/media/sweep.ts'
import type { MediaSettings } from '../../services/config/settings/media-settings.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The images and videos that were made here. */
    media: SignedMedia
  }
}

/** Keeps images and videos and removes them when they have expired. */
export default fp<MediaSettings>(async (app, { place, signingKey, previousSigningKey, keepMs }) => {
  const { store } = app
  const blobs = await openBlobs(place)
  const key = signingKey ?? await sharedSigningKey(store)
  const signatures = createSignatures(previousSigningKey === null ? [key] : [key, previousSigningKey])
  app.decorate('media', createMediaStore({ store, blobs, signatures, keepMs }))
  const stop = startSweeps({
    store, blobs, onError: err => app.log.warn({ err }, 'expired media could not be removed')
  })
  app.addHook('onClose', async () => {
    await stop()
    await blobs.close()
  })
}, { name: 'media', dependencies: ['store'] })
