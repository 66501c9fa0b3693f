import { randomUUID } from 'node:crypto'
import { GatewayError } from '../../shared/errors.ts'
import { processWarnings, type Log } from '../../shared/log.ts'
import { realTimers, retry } from '../../shared/timers.ts'
import { StoreUnavailable, type Store } from '../../store/store.ts'
import { createNodeLiveness, type NodeLiveness } from './cluster/node-liveness.ts'
import { createNodeMembership } from './cluster/node-membership.ts'
import { createStaleHolds, type Released } from './cluster/release-dead-nodes.ts'
import { createCommit } from './commit/commit.ts'
import { createQueue, type Queue } from './commit/queue.ts'
import { createSuspendBare } from './commit/suspend-bare.ts'
import { createWriter, logFieldsOf, type Write } from './commit/writer.ts'
import { createHolds } from './hold/holds.ts'
import type { Ledger } from './ledger.ts'
import { startLedgerMaintenance } from './maintenance.ts'
import { createBalances } from './node-allowance.ts'
import { withDefaults, type LedgerOptions } from './options.ts'
import type { NodeContext, SuspenseReason } from './types.ts'

export interface LedgerContext extends Partial<Pick<NodeContext, 'timers' | 'monotonic' | 'log'>> {
  store: Store
  /** How long a request may run; `allowRequests` makes it longer. */
  requestMs?: number
  /** Random by default. Belongs to one process at a time: a new one releases what the last one held. */
  nodeId?: string
  liveness?: NodeLiveness
  options?: Partial<LedgerOptions>
  onWrite?: (seconds: number) => void
}

const nodeIdPattern = /^[A-Za-z0-9._-]{1,64}$/
const closeRetryMs = 100
const usualRequestMs = 600_000

/**
 * Creates the ledger of one node on a store, which it does not close. A node that dies loses the settlements
 * that were not on disk, at most its rows in the table `hold`: what its requests held at the last commit plus
 * one chunk. That is the operator's loss, never the account's. One function, because it only connects parts.
 */
export function createLedger (context: LedgerContext): Ledger {
  const { store, nodeId: node = randomUUID(), log = processWarnings, timers = realTimers } = context
  const { requestMs = usualRequestMs, monotonic = () => performance.now() } = context
  if (!nodeIdPattern.test(node)) throw new RangeError(`Not an id of a node: ${node.slice(0, 80)}`)
  const options = withDefaults(store.engine, context.options ?? {})
  // The longest so far: a request may have begun when it was allowed to run longer than now.
  let longestMs = requestMs
  const shared = { store, node, options, requestMs: () => longestMs, timers, monotonic, log }
  const counts = { overages: 0, suspended: 0, lost: 0 }

  const liveness = once(async () => context.liveness ?? await createNodeLiveness(store, options, monotonic))
  const staleHolds = createStaleHolds(store)
  const onReleased = (from: string, released: readonly Released[]) => {
    if (released.length > 0) log.warn({ node: from, released }, 'the holds of a dead node were released')
  }
  const releaseDeadNodes = async () => {
    for (const other of await staleHolds.otherNodes(node)) {
      const isDead = (await liveness()).isDead(other)
      if (isDead) onReleased(other.id, await staleHolds.releaseDeadNode(other) ?? [])
    }
  }
  const membership = createNodeMembership({ ...shared, liveness, staleHolds, releaseDeadNodes, onReleased })
  const reportSuspended = createSuspenseReport({ log, counts })
  const writer = createWriter({
    commit: createCommit(shared), suspendBare: createSuspendBare(store), membership, log, reportSuspended
  })
  const queue = createQueue({
    ...shared,
    clock: store.clock,
    write: timed(writer, monotonic, context.onWrite),
    onOutage: (err) => log.warn({ err, unflushed: queue.unflushed }, 'the ledger cannot be written')
  })
  const holds = createHolds({ ...shared, membership, queue })
  const balances = createBalances(store, () => membership.term, holds.askedNano)
  const stopMaintenance = startLedgerMaintenance({
    ...shared, membership, queue, staleHolds, releaseDeadNodes
  })

  return {
    node,
    reserve: (reservation) => holds.reserve(reservation),
    forget: (id) => holds.forget(id),
    means: (account) => balances.means(account),
    flush: () => queue.flush(),
    allowRequests (requestMs) { longestMs = Math.max(longestMs, requestMs) },
    reportSuspended,
    refuseWaiting () {
      holds.refuseWaiting(GatewayError.shuttingDown())
    },
    async balance (account) {
      // After a restart, what the process before it held is released first.
      await membership.join()
      await queue.flush()
      return await balances.balance(account)
    },
    close: once(async () => {
      holds.beginClose()
      await stopMaintenance()
      try {
        await flushWithin(queue, options.closeMs)
      } finally {
        holds.close()
        for (const settlement of await queue.stop()) {
          counts.lost++
          log.error(logFieldsOf(settlement), 'a request was not booked before the process ended; book it by hand')
        }
      }
      await membership.leave()
    }),
    get overageCount () { return counts.overages },
    get suspendedCount () { return counts.suspended },
    get lostCount () { return counts.lost },
    get openHoldCount () { return holds.count },
    get waitingCount () { return holds.waiting },
    get unflushedCount () { return queue.unflushed },
    get outageMs () { return queue.outageMs }
  }
}

function timed (write: Write, monotonic: () => number, onWrite?: (seconds: number) => void): Write {
  if (onWrite === undefined) return write
  return async (...args) => {
    const startedMs = monotonic()
    const written = await write(...args)
    onWrite((monotonic() - startedMs) / 1000)
    return written
  }
}

/** Throws StoreUnavailable when the database stays away. */
async function flushWithin (queue: Queue, timeMs: number): Promise<void> {
  const deadline = performance.now() + timeMs
  while (queue.unflushed > 0) {
    await retry(async () => {
      await queue.flush()
      if (queue.unflushed > 0) throw new StoreUnavailable(new Error('Accounts are locked'), { problem: 'locked' })
    }, error => {
      if (!(error instanceof StoreUnavailable) || performance.now() > deadline) throw error
      return closeRetryMs
    })
  }
}

/** Shares the promise of the first call, until it fails. */
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

interface SuspenseReportOptions { log: Log, counts: { overages: number, suspended: number } }

/** Creates the function that logs and counts what was booked to suspense, for which an operator decides. */
function createSuspenseReport ({ log, counts }: SuspenseReportOptions): Ledger['reportSuspended'] {
  return entries => {
    for (const entry of entries) {
      const line = { ...entry, reqId: entry.ref }
      if (entry.reason === overHold) {
        counts.overages++
        log.warn(line, 'a request cost more than its hold; the excess is booked to suspense')
      } else {
        counts.suspended++
        log.error(line, 'a request cannot be charged and is booked to suspense')
      }
    }
  }
}

const overHold: SuspenseReason = 'over_hold'
