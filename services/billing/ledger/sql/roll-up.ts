import type { Queries, Store } from '../../../store/store.ts'
import { settledSeq } from './settled-seq.ts'

/** Sums of entries by day, which some table has for all entries up to a number. */
export interface RollUp {
  /** The table whose only row has that number as `seq`; it changes in one transaction with the sums. */
  progress: 'usage_progress' | 'chain_progress'
  /** Entries per transaction. */
  chunk: number
  /** Returns what adds the entries after `from` up to `to`, within the transaction. */
  prepare (from: number, to: number): Promise<(queries: Queries) => Promise<unknown>>
}

/**
 * Adds the entries to sums that were there at the start, and returns how many were added. Several nodes may
 * do so at once: a chunk counts for the one that moves the progress from where it read it, and the others
 * stop. Throws StoreUnavailable.
 */
export async function rollUpEntries (
  store: Store, { progress, chunk, prepare }: RollUp, signal?: AbortSignal
): Promise<number> {
  const row = await store.get<{ seq: number }>(`select seq from ${progress}`)
  const start = row?.seq ?? 0
  const end = await settledSeq(store)
  if (end === null) return 0
  let from = start
  while (from < end && signal?.aborted !== true) {
    const to = Math.min(from + chunk, end)
    const add = await prepare(from, to)
    const before = from
    const isMoved = await store.transaction(async queries => {
      const moved = await queries.run(`update ${progress} set seq = $2 where seq = $1`, [before, to])
      if (moved === 1) await add(queries)
      return moved === 1
    })
    if (!isMoved) break
    from = to
  }
  return from - start
}

/** Returns how many entries are not rolled up yet. Throws StoreUnavailable. */
export async function countWaitingEntries (
  store: Pick<Store, 'get'>, progress: RollUp['progress']
): Promise<number> {
  const row = await store.get<{ count: number }>(`
    select coalesce((select max(seq) from entry), 0) - seq as count from ${progress}`)
  return row?.count ?? 0
}
