import { randomUUID } from 'node:crypto'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { createBalances } from './balances.ts'
import { createCommit } from './commit/commit.ts'
import type { HoldEnds } from './hold/hold.ts'
import { createLease } from './cluster/node-membership.ts'
import type { Ledger } from './ledger.ts'
import { warnings } from '../shared/log.ts'
import type { LedgerLog } from '../shared/log.ts'
import { withDefaults } from './options.ts'
import type { LedgerOptions } from './options.ts'
import { createPresence } from './cluster/node-liveness.ts'
import type { Presence } from './cluster/node-liveness.ts'
import { createQueue } from './commit/queue.ts'
import type { Queue } from './commit/queue.ts'
import { createReclaim } from './cluster/release-dead-nodes.ts'
import type { Returned } from './cluster/release-dead-nodes.ts'
import { createReservations } from './hold/reservations.ts'
import { realTimers } from '../shared/timers.ts'
import type { Timers } from '../shared/timers.ts'
import { startUpkeep } from './maintenance.ts'
import { createWriter } from './commit/writer.ts'

export interface LedgerContext {
  store: Store
  /**
   * 1 to 64 letters, digits or `._-`; random unless told. A name that is told must belong to one process at a
   * time: whoever starts under it takes back at once what the process before it held.
   */
  nodeId?: string
  /** Milliseconds since 1970. */
  clock?: () => number
  /** Milliseconds of a clock that is never set. */
  monotonic?: () => number
  timers?: Timers
  /** How nodes show that they live; what suits the store unless told. */
  presence?: Presence
  options?: Partial<LedgerOptions>
  log?: LedgerLog
  /** Hears how long each batch took to be written. */
  onWrite?: (tookMs: number) => void
}

const nodeIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/**
 * Creates the ledger of one node on a store, which it does not close. A node keeps a hold of its own on
 * every account in use and grants requests from it in memory; the queue brings settlements and larger needs
 * to the database in group commits.
 *
 * How much can be refused or lost: a reservation is refused only when it is more than what the account has
 * left plus what living nodes have spare, or when those do not give it back within `recallMs`; a dead node's
 * hold comes back as `Presence` tells. A node that dies takes with it the postings that were not on disk, at
 * most its row in the table `hold`: what its requests held since the last commit, plus one chunk. That is
 * the operator's loss, never the account's.
 */
export function createLedger (context: LedgerContext): Ledger {
  const { store, nodeId: node = randomUUID(), log = warnings, timers = realTimers } = context
  const { clock = Date.now, monotonic = () => performance.now() } = context
  if (!nodeIdPattern.test(node)) throw new RangeError(`Not an id of a node: ${node.slice(0, 80)}`)
  const options = withDefaults(store.engine, context.options ?? {})
  const shared = { store, node, options, timers, clock, monotonic, log }
  const counts = { overages: 0, suspended: 0, lost: 0 }

  const presence = once(async () =>
    context.presence ?? await createPresence(store, options, { clock, monotonic }))
  const reclaim = createReclaim(store)
  const onReturned = (from: string, returned: readonly Returned[]) => {
    if (returned.length > 0) log.warn({ node: from, returned }, 'a dead node\'s holds were given back')
  }
  const takeFromGone = async () => {
    for (const other of await reclaim.candidates(node)) {
      const isGone = (await presence()).isGone(other)
      if (isGone) onReturned(other.id, await reclaim.takeFrom(other, clock()) ?? [])
    }
  }
  const lease = createLease({ ...shared, presence, reclaim, takeFromGone, onReturned })
  const writer = createWriter({ commit: createCommit(shared), lease, log, counts })
  const write = timed(writer, monotonic, context.onWrite)
  const queue = createQueue({
    ...shared, write, onOutage: (err) => log.warn({ err, unflushed: queue.unflushed }, 'the ledger cannot be written')
  })
  const ends = createEnds({ queue, log, counts })
  const reservations = createReservations({ ...shared, lease, queue, ends })
  const balances = createBalances({ store, lease })
  const stopUpkeep = startUpkeep({ ...shared, lease, queue, reclaim, takeFromGone })

  return {
    node,
    reserve: (reservation) => reservations.reserve(reservation),
    forget: (id) => reservations.forget(id),
    availableHint: (account) => balances.hint(account),
    flush: () => queue.flush(),
    async balance (account) {
      // After a restart, what the process before it held is given back first.
      await lease.ensure()
      await queue.flush()
      return await balances.balance(account)
    },
    close: once(async () => {
      reservations.close()
      await stopUpkeep()
      try {
        await flushWithin(queue, options.closeMs)
      } finally {
        ends.close()
        await queue.stop()
      }
      await lease.resign()
    }),
    get overageCount () { return counts.overages },
    get suspendedCount () { return counts.suspended },
    get lostCount () { return counts.lost },
    get openHoldCount () { return reservations.count },
    get unflushedCount () { return queue.unflushed }
  }
}

function timed<Batch> (
  write: (batch: Batch) => Promise<void>, monotonic: () => number, onWrite?: (tookMs: number) => void
): (batch: Batch) => Promise<void> {
  if (onWrite === undefined) return write
  return async (batch) => {
    const startedMs = monotonic()
    await write(batch)
    onWrite(monotonic() - startedMs)
  }
}

interface EndsContext {
  queue: Queue
  log: LedgerLog
  counts: { overages: number }
}

/** Moves the money of holds that end: in memory at once, to the database through the queue. */
function createEnds ({ queue, log, counts }: EndsContext): HoldEnds & { close (): void } {
  let closed = false
  return {
    settle (hold, posting) {
      const { amountNano } = posting
      if (amountNano > hold.amountNano) counts.overages++
      if (closed) {
        log.error({ hold: hold.id, chain: hold.chain, posting }, 'a request was settled after the end')
        return Promise.resolve()
      }
      for (const share of hold.granted?.shares ?? []) {
        share.inFlightNano -= hold.amountNano
        share.postedNano += amountNano
      }
      return queue.settle(hold, posting)
    },

    release (hold) {
      if (hold.granted === null) {
        if (closed) return Promise.resolve()
        return queue.settle(hold, null)
      }
      const { term, shares } = hold.granted
      for (const share of shares) {
        share.inFlightNano -= hold.amountNano
        term.dirty.add(share)
      }
      if (!closed) queue.touch()
      return Promise.resolve()
    },

    close: () => { closed = true }
  }
}

/** Tries to write everything for some time. Throws StoreUnavailable when the database stays away. */
async function flushWithin (queue: Queue, timeMs: number): Promise<void> {
  const deadline = performance.now() + timeMs
  while (queue.unflushed > 0) {
    try {
      await queue.flush()
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, closeRetryMs))
    }
  }
}

const closeRetryMs = 100

function once<T> (work: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | null = null
  return () => {
    started ??= work().catch((error: unknown) => {
      started = null
      throw error
    })
    return started
  }
}
