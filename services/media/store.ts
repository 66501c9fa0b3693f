import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Store } from '../store/store.ts'
import { keyOf } from './blobs.ts'
import type { Blobs } from './blobs.ts'
import type { MediaStore, PutOptions } from './media.ts'
import { insertMedia, selectMedia } from './rows.ts'
import type { MediaRow } from './rows.ts'
import type { Signatures } from './signatures.ts'
import { spool } from './spool.ts'

/** The store, and what its own route needs besides. */
export interface SignedMedia extends MediaStore {
  get (id: string): Promise<MediaRow | undefined>
  /** Whether an address was signed here; says nothing of whether it has expired. */
  isSigned (id: string, expiresS: string, signature: string): boolean
}

interface MediaOptions {
  store: Store
  blobs: Blobs
  signatures: Signatures
  /** How long media are kept where nothing else is said, in ms. */
  keepMs: number
  /** Milliseconds since 1970. */
  clock?: () => number
}

/** Most bytes where nothing else is said. */
export const maxBytesByKind: Readonly<Record<PutOptions['kind'], number>> = {
  image: 64 * 1024 ** 2,
  video: 512 * 1024 ** 2
}

/**
 * Keeps media as `blobs` does, with a row each in `store`. The row comes last: whatever has one is whole.
 * Methods throw StoreUnavailable and MediaUnavailable besides what the contract says.
 */
export function createMediaStore (
  { store, blobs, signatures, keepMs, clock = Date.now }: MediaOptions
): SignedMedia {
  return {
    async put (body, options) {
      const id = randomBytes(16).toString('hex')
      const { kind, account, job = null, maxBytes = maxBytesByKind[kind] } = options
      const file = await spool(join(await blobs.spoolFolder(), id), body, { kind, maxBytes })
      const { type: { mime, extension }, bytes, sha256, width, height } = file
      const createdAt = clock()
      const expiresAt = createdAt + (options.keepMs ?? keepMs)
      try {
        await blobs.keep(keyOf(id, extension), file)
        const about = { account, job, mime, extension, bytes, sha256, width, height }
        await insertMedia(store, { id, ...about, createdAt, expiresAt })
      } catch (error) {
        await rm(file.path, { force: true }).catch(() => {})
        // Of what was kept, nothing is removed here: the insertion may have been carried out nevertheless.
        throw error
      }
      return { id, mime, extension, bytes, width, height, createdAt, expiresAt }
    },

    async get (id) {
      const row = await selectMedia(store, id)
      return row === undefined || row.expiresAt <= clock() ? undefined : row
    },

    read: async ({ id, extension }, range) => await blobs.read(keyOf(id, extension), range),

    url ({ id, extension, expiresAt }, base) {
      const expiresS = String(Math.floor(expiresAt / 1000))
      return `${base}/media/${id}.${extension}?exp=${expiresS}&sig=${signatures.sign(id, expiresS)}`
    },

    isSigned: (id, expiresS, signature) => signatures.isGood(id, expiresS, signature)
  }
}
