import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '../store/store.ts'
import { blobKey, type BlobStore } from './blob-store.ts'
import { asMediaUnavailable } from './errors.ts'
import type { MediaStore, PutMediaOptions } from './media.ts'
import { expireMedia, insertMedia, selectMedia, type MediaRow } from './rows.ts'
import { signedUrl, type UrlSigner } from './url-signer.ts'
import { writeTempFile } from './temp-file.ts'

/** The media store with the operations its route needs. */
export interface SignedMediaStore extends MediaStore {
  get (id: string): Promise<MediaRow | undefined>
  /** Whether a URL was signed here; does not check its expiry. */
  verifyUrl (id: string, expiresS: string, signature: string): boolean
}

/** Default size limits in bytes. */
const maxBytesByKind: Readonly<Record<PutMediaOptions['kind'], number>> = {
  image: 64 * 1024 ** 2,
  video: 4 * 1024 ** 3
}

/**
 * Stores media in `blobs` and a row for each in `store`. The row is inserted last, so that every row has its
 * complete blob. Methods also throw StoreUnavailable and MediaUnavailable.
 */
export function createMediaStore (
  { store, blobs, signer, retentionMs, clock = store.clock }:
  { store: Store, blobs: BlobStore, signer: UrlSigner, retentionMs: number, clock?: () => number }
): SignedMediaStore {
  const receive: MediaStore['receive'] = async (body, options) => {
    const id = randomBytes(16).toString('hex')
    const { kind, account, job = null, maxBytes = maxBytesByKind[kind], signal } = options
    const file = await writeTempFile(join(await blobs.tempFolder(), id), body, { kind, maxBytes, signal })
    const { type: { mime, extension }, bytes, sha256, width, height } = file
    let isPut = false
    let isStored = false
    let createdAt: number | null = null
    return {
      async store (signal) {
        if (!isPut) await blobs.put(blobKey(id, extension), file, signal)
        isPut = true
        createdAt ??= clock()
        const times = { createdAt, expiresAt: createdAt + (options.retentionMs ?? retentionMs) }
        const metadata = { account, job, mime, extension, bytes, sha256, width, height }
        // A failure leaves the blob: the insert may have been committed, else garbage collection deletes it.
        await insertMedia(store, { id, ...metadata, ...times })
        isStored = true
        return { id, mime, extension, bytes, width, height, ...times }
      },
      async discard () {
        await asMediaUnavailable(rm(file.path, { force: true })).catch(() => {})
        // The insert may have been committed although the connection broke.
        if (createdAt !== null && !isStored) await expireMedia(store, [id], clock()).catch(() => {})
      }
    }
  }

  return {
    receive,

    async put (body, options) {
      const received = await receive(body, options)
      try {
        return await received.store(options.signal)
      } catch (error) {
        await received.discard()
        throw error
      }
    },

    async get (id) {
      const row = await selectMedia(store, id)
      return row === undefined || row.expiresAt <= clock() ? undefined : row
    },

    read: async ({ id, extension }, range) => await blobs.read(blobKey(id, extension), range),

    url: (media, base) => signedUrl(signer, media, base),

    verifyUrl: (id, expiresS, signature) => signer.verify(id, expiresS, signature)
  }
}
