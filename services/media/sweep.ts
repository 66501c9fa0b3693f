import type { Timers } from '../shared/timers.ts'
import { realTimers } from '../shared/timers.ts'
import type { Store } from '../store/store.ts'
import { idInKey, keyOf } from './blobs.ts'
import type { Blobs } from './blobs.ts'
import { existingIds, takeExpired } from './rows.ts'

export interface SweepOptions {
  store: Store
  blobs: Blobs
  /** Hears of what could not be removed; it is tried again. */
  onError (error: unknown): void
  clock?: () => number
  timers?: Timers
}

const hourMs = 3_600_000

/** How much is removed at a time, and when. */
export const sweepLimits = {
  /** Small, so that no transaction keeps others waiting. */
  batch: 100,
  expiredEveryMs: 60_000,
  orphansEveryMs: 6 * hourMs,
  /** From the last byte of a body to its row, nothing takes as long as this. */
  orphanAgeMs: 2 * hourMs
} as const

/**
 * Removes, now and then, what has expired or was abandoned; returns how to stop, which waits for what runs.
 */
export function startSweeps (options: SweepOptions): () => Promise<void> {
  const { onError, timers = realTimers } = options
  const stops = [
    repeat(timers, sweepLimits.expiredEveryMs, stopped => sweepExpired(options, stopped).catch(onError)),
    repeat(timers, sweepLimits.orphansEveryMs, stopped => sweepOrphans(options, stopped).catch(onError))
  ]
  return async () => { await Promise.all(stops.map(stop => stop())) }
}

/**
 * Removes what has expired, in small batches, and returns how much. A row goes before its bytes, and to one
 * node only; bytes that a crash leaves behind have no row and are orphans.
 */
export async function sweepExpired (
  { store, blobs, clock = Date.now }: SweepOptions, stopped: () => boolean = () => false
): Promise<number> {
  let removed = 0
  while (!stopped()) {
    const expired = await takeExpired(store, clock(), sweepLimits.batch)
    await blobs.remove(expired.map(({ id, extension }) => keyOf(id, extension)))
    removed += expired.length
    if (expired.length < sweepLimits.batch) break
  }
  return removed
}

/** Removes bytes without a row, and returns how many. Of nodes that see the same bytes, one does it. */
export async function sweepOrphans (
  { store, blobs, clock = Date.now }: SweepOptions, stopped: () => boolean = () => false
): Promise<number> {
  const nowMs = clock()
  if (blobs.shared && !await begin(store, nowMs)) return 0
  const oldMs = nowMs - sweepLimits.orphanAgeMs
  await blobs.forgetSpools(oldMs)
  let removed = 0
  for await (const keys of blobs.writtenBefore(oldMs)) {
    for (let from = 0; from < keys.length && !stopped(); from += sweepLimits.batch) {
      const orphans = await withoutRow(store, keys.slice(from, from + sweepLimits.batch))
      await blobs.remove(orphans)
      removed += orphans.length
    }
    if (stopped()) break
  }
  return removed
}

async function withoutRow (store: Store, keys: readonly string[]): Promise<string[]> {
  const ids = new Map(keys.map(key => [key, idInKey(key)]))
  const known = await existingIds(store, [...ids.values()].filter(id => id !== null))
  return keys.filter(key => {
    const id = ids.get(key) ?? null
    return id !== null && !known.has(id)
  })
}

/** Whether it is time to look for orphans, and this node that does it. */
async function begin (store: Store, nowMs: number): Promise<boolean> {
  const begun = await store.run(`
    insert into chore (name, begun_at) values ('media-orphans', $1)
    on conflict (name) do update set begun_at = excluded.begun_at where chore.begun_at <= $2`,
  [nowMs, nowMs - sweepLimits.orphansEveryMs / 2])
  return begun === 1
}

/** Begins each time up to a tenth sooner, so that nodes that started together do not go on together. */
function repeat (
  timers: Timers, everyMs: number, work: (stopped: () => boolean) => Promise<unknown>
): () => Promise<void> {
  let stopped = false
  let underWay: Promise<unknown> = Promise.resolve()
  let cancel = wait()
  function wait () {
    return timers.inBackground(everyMs * (1 - Math.random() / 10), () => {
      underWay = work(() => stopped).then(() => {
        if (!stopped) cancel = wait()
      })
    })
  }
  return async () => {
    stopped = true
    cancel()
    await underWay
  }
}
