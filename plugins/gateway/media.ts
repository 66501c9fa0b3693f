import fp from 'fastify-plugin'
import { openBlobStore } from '../../services/media/open-blob-store.ts'
import { createUrlSigner, sharedSigningKey } from '../../services/media/url-signer.ts'
import { countCopyFailures, type CopyFailure } from '../../services/operations/observability/metrics/gateway.ts'
import { createMediaStore, type SignedMediaStore } from '../../services/media/store.ts'
import { startGarbageCollection } from '../../services/media/garbage-collection.ts'
import type { MediaSettings } from '../../services/config/settings/settings.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Generated images and videos. */
    media: SignedMediaStore
    /** Counts a failed copy of an image or video. */
    countCopyFailure (failure: CopyFailure): void
  }
}

/** Stores generated images and videos and deletes them when they expire. */
export default fp<MediaSettings>(async (app, settings) => {
  const { store, secretBox } = app
  const { location, signingKey, previousSigningKey, retentionMs } = settings
  const blobs = await openBlobStore(location)
  const key = signingKey ?? await sharedSigningKey(store, secretBox)
  const signer = createUrlSigner(previousSigningKey === null ? [key] : [key, previousSigningKey])
  app.decorate('media', createMediaStore({ store, blobs, signer, retentionMs }))
  app.decorate('countCopyFailure', countCopyFailures(app.metrics))
  const stop = startGarbageCollection({ store, blobs }, err => app.log.warn({ err }, 'cannot delete expired media'))
  app.addHook('onClose', async () => {
    const stopped = stop()
    // Aborts the running deletion.
    await blobs.close()
    await stopped
  })
}, { name: 'media', dependencies: ['store', 'secrets', 'metrics'] })
