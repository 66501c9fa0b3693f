import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { noteEntryBlocks } from './sql/entry-blocks.ts'
import type { Lease } from './cluster/node-membership.ts'
import type { LedgerLog } from '../shared/log.ts'
import type { LedgerOptions } from './options.ts'
import type { Queue } from './commit/queue.ts'
import type { Reclaim } from './cluster/release-dead-nodes.ts'
import { forgetIfEmpty } from './node-allowance.ts'
import type { Timers } from '../shared/timers.ts'

interface UpkeepContext {
  store: Store
  lease: Lease
  queue: Queue
  reclaim: Reclaim
  takeFromGone (): Promise<void>
  options: LedgerOptions
  timers: Timers
  clock: () => number
  monotonic: () => number
  log: LedgerLog
}

/** What a node does beside requests; returns how to stop it, which waits for what is under way. */
export function startUpkeep (context: UpkeepContext): () => Promise<void> {
  const { timers, options } = context
  const stops = [
    repeat(timers, 0, options.beatMs, () => beat(context)),
    repeat(timers, options.idleMs, options.idleMs, async () => giveBackSpare(context))
  ]
  return async () => { await Promise.all(stops.map((stop) => stop())) }
}

/** Shows that this node lives, gives back what the dead and forgotten hold, notes which entries came when. */
async function beat ({ store, lease, reclaim, takeFromGone, clock, log }: UpkeepContext): Promise<void> {
  try {
    await lease.beat()
    await takeFromGone()
    const expired = await reclaim.expire(clock())
    if (expired.length > 0) log.warn({ returned: expired }, 'durable holds expired')
    await noteEntryBlocks(store)
  } catch (err) {
    // The next beat tries again; meanwhile the lease runs out by itself.
    if (err instanceof StoreUnavailable) log.warn({ err }, 'the ledger could not give a sign of life')
    else log.error({ err }, 'the upkeep of the ledger failed')
  }
}

/** Gives back what is spare of accounts that were not used here lately; looks again at those that were. */
function giveBackSpare ({ lease, queue, options, monotonic }: UpkeepContext): void {
  const { term } = lease
  if (term === null) return
  const unusedSinceMs = monotonic() - options.idleMs
  for (const share of term.shares.values()) {
    if (share.usedAtMs > unusedSinceMs) {
      // Written again, it learns of a limit that an operator has lowered below what is spare here.
      if ((share.available?.atMs ?? 0) <= unusedSinceMs + options.idleMs / 2) term.dirty.add(share)
      continue
    }
    if (share.idle) forgetIfEmpty(term, share)
    else term.dirty.add(share)
    share.idle = true
  }
  if (term.dirty.size > 0) queue.touch()
}

/** `work` never rejects. */
function repeat (
  timers: Timers, firstMs: number, everyMs: number, work: () => Promise<void>
): () => Promise<void> {
  let stopped = false
  let underWay = Promise.resolve()
  let cancel = timers.inBackground(firstMs, run)
  function run (): void {
    underWay = work().then(() => {
      if (!stopped) cancel = timers.inBackground(everyMs, run)
    })
  }
  return async () => {
    stopped = true
    cancel()
    await underWay
  }
}
