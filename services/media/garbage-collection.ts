import { blobKey, idOfBlobKey, type BlobStore } from './blob-store.ts'
import { deleteExpiredRows, existingIds } from './rows.ts'
import { periodically } from '../shared/timers.ts'
import { claimChore } from '../store/chores.ts'
import type { Store } from '../store/store.ts'

export interface CollectionOptions {
  store: Store
  blobs: BlobStore
  clock?: () => number
}

const hourMs = 3_600_000

export const collectionLimits = {
  /** Small, because a transaction blocks other writers. */
  batch: 100,
  expiredEveryMs: 60_000,
  orphansEveryMs: 6 * hourMs,
  /** Longer than any upload takes from its last byte to its row. */
  orphanAgeMs: 2 * hourMs
} as const

const neverAborted = new AbortController().signal

/**
 * Deletes expired media and orphaned blobs periodically; a failure is retried in the next round. Returns a
 * function that stops the rounds and waits for the current one.
 */
export function startGarbageCollection (
  options: CollectionOptions, onError: (error: unknown) => void
): () => Promise<void> {
  const { expiredEveryMs, orphansEveryMs } = collectionLimits
  const every = (ms: number, collect: typeof deleteExpiredMedia) =>
    periodically(() => withJitter(ms), async signal => { await collect(options, signal) }, onError)
  const rounds = [every(expiredEveryMs, deleteExpiredMedia), every(orphansEveryMs, deleteOrphanBlobs)]
  return async () => { await Promise.all(rounds.map(round => round.stop())) }
}

/** Up to 10 % less, so that nodes started together drift apart. */
const withJitter = (ms: number): number => ms * (1 - Math.random() / 10)

/** Returns the number deleted. Rows go first: after a crash in between the blob is an orphan. */
export async function deleteExpiredMedia (
  { store, blobs, clock = store.clock }: CollectionOptions, signal: AbortSignal = neverAborted
): Promise<number> {
  let deleted = 0
  while (!signal.aborted) {
    const expired = await deleteExpiredRows(store, clock(), collectionLimits.batch)
    await blobs.delete(expired.map(({ id, extension }) => blobKey(id, extension)))
    deleted += expired.length
    if (expired.length < collectionLimits.batch) break
  }
  return deleted
}

/** Deletes blobs without a row and returns their number; one node does it for a shared store. */
export async function deleteOrphanBlobs (
  { store, blobs, clock = store.clock }: CollectionOptions, signal: AbortSignal = neverAborted
): Promise<number> {
  const { orphansEveryMs, orphanAgeMs } = collectionLimits
  if (blobs.shared && !await claimChore({ run: store.run, clock }, 'media-orphans', orphansEveryMs)) return 0
  const oldMs = clock() - orphanAgeMs
  await blobs.deleteStaleTempFiles(oldMs)
  let deleted = 0
  for await (const keys of blobs.listOlderThan(oldMs)) {
    for (let from = 0; from < keys.length && !signal.aborted; from += collectionLimits.batch) {
      const orphans = await withoutRow(store, keys.slice(from, from + collectionLimits.batch))
      await blobs.delete(orphans)
      deleted += orphans.length
    }
    if (signal.aborted) break
  }
  return deleted
}

async function withoutRow (store: Store, keys: readonly string[]): Promise<string[]> {
  const ids = new Map(keys.map(key => [key, idOfBlobKey(key)]))
  const known = await existingIds(store, [...ids.values()].filter(id => id !== null))
  return keys.filter(key => {
    const id = ids.get(key) ?? null
    return id !== null && !known.has(id)
  })
}
