import { periodically } from '../../shared/timers.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { NodeMembership } from './cluster/node-membership.ts'
import type { StaleHolds } from './cluster/release-dead-nodes.ts'
import type { Queue } from './commit/queue.ts'
import { forgetIfEmpty } from './node-allowance.ts'
import { recordEntryBlocks } from './sql/entry-blocks.ts'
import type { NodeContext } from './types.ts'

interface MaintenanceContext extends NodeContext {
  membership: NodeMembership
  queue: Queue
  staleHolds: StaleHolds
  releaseDeadNodes (): Promise<void>
}

/** Starts the periodic work of a node; returns how to stop it, which waits for work in progress. */
export function startLedgerMaintenance (context: MaintenanceContext): () => Promise<void> {
  const { timers, options, log } = context
  const onError = (err: unknown) => {
    // Until a later heartbeat succeeds, the lease runs out.
    if (err instanceof StoreUnavailable) log.warn({ err }, 'the ledger could not send a heartbeat')
    else log.error({ err }, 'maintenance of the ledger failed')
  }
  const work = [
    periodically(() => options.heartbeatMs, () => heartbeat(context), onError, { firstMs: 0, timers }),
    periodically(() => options.idleMs, async () => giveBackSpare(context), onError, { timers })
  ]
  return async () => { await Promise.all(work.map((periodic) => periodic.stop())) }
}

/** Renews the node's lease, and does what any node may do. */
async function heartbeat (context: MaintenanceContext): Promise<void> {
  const { store, membership, staleHolds, releaseDeadNodes, log } = context
  await membership.heartbeat()
  await releaseDeadNodes()
  const released = await staleHolds.releaseExpired()
  if (released.length > 0) log.warn({ released }, 'durable holds expired')
  await recordEntryBlocks(store)
}

/** Gives back what is spare on accounts that were not used lately, and refreshes those that were. */
function giveBackSpare ({ membership, queue, options, monotonic }: MaintenanceContext): void {
  const { term } = membership
  if (term === null) return
  const nowMs = monotonic()
  const unusedSinceMs = nowMs - options.idleMs
  for (const allowance of term.allowances.values()) {
    if (allowance.usedAtMs > unusedSinceMs) {
      // Writing it again notices a limit that was lowered below what is spare here.
      if ((allowance.available?.atMs ?? 0) <= nowMs - options.idleMs / 2) term.dirty.add(allowance)
      continue
    }
    if (allowance.idle) forgetIfEmpty(term, allowance, nowMs)
    else term.dirty.add(allowance)
    allowance.idle = true
  }
  if (term.dirty.size > 0) queue.touch()
}
