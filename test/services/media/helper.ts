import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { BlobStore } from '../../../services/media/blob-store.ts'
import { createDiskBlobStore } from '../../../services/media/disk.ts'
import { createUrlSigner } from '../../../services/media/url-signer.ts'
import { createMediaStore, type SignedMediaStore } from '../../../services/media/store.ts'
import type { Store } from '../../../services/store/store.ts'
import { openStore } from '../../../services/store/open.ts'
import { temporaryFolder } from '../../helpers/process.ts'

/** A store of media in a folder of its own, on a clock that the test sets. */
export interface MediaWorld {
  store: Store
  blobs: BlobStore
  media: SignedMediaStore
  folder: string
  /** Milliseconds since 1970. */
  now: { ms: number }
  clock: () => number
  /** Every file below the folder, sorted. */
  files (): Promise<string[]>
}

export const hourMs = 3_600_000

export async function createWorld (t: Test, open?: () => Promise<Store>): Promise<MediaWorld> {
  const folder = join(await temporaryFolder(t), 'media')
  const store = await (open === undefined ? openStore('sqlite::memory:') : open())
  if (open === undefined) t.teardown(() => store.close())
  const now = { ms: Date.now() }
  const clock = () => now.ms
  const blobs = createDiskBlobStore(folder)
  const signer = createUrlSigner(['a key for tests only'])
  const media = createMediaStore({ store, blobs, signer, retentionMs: hourMs, clock })
  return { store, blobs, media, folder, now, clock, files: () => filesIn(folder) }
}

export async function filesIn (folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name)).sort()
}

export async function bytesOf (chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(chunks))
}
