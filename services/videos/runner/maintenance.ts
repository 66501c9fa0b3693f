import type { NodeLiveness } from '../../ledger/cluster/node-liveness.ts'
import { periodically } from '../../shared/timers.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { RunnerContext } from './runner-context.ts'
import type { Runner } from './runner.ts'

interface MaintenanceOptions { node: string, takeoverMs: number, liveness: NodeLiveness, runner: Runner }

const pruneEveryMs = 3_600_000
/** A takeover of 15 s is checked every 1.9 s, so jobs of a dead node are adopted within 19 s. */
const checksPerTakeover = 8

/**
 * Adopts the jobs of dead nodes and those that closing nodes left, cancels and prunes. The heartbeats
 * themselves are written by the ledger.
 */
export function startMaintenance (
  { store, rows, log, timing }: RunnerContext, { node, takeoverMs, liveness, runner }: MaintenanceOptions
) {
  let own = { heartbeatAt: -1, seenMs: performance.now() }
  let prunedMs = -Infinity

  async function check (): Promise<void> {
    const askedMs = performance.now()
    const owners = await rows.owners()
    const self = owners.find(({ id }) => id === node)
    if (self !== undefined && self.heartbeatAt !== own.heartbeatAt) {
      own = { heartbeatAt: self.heartbeatAt, seenMs: askedMs }
    }
    if (isFenced()) return
    const dead = owners.filter(other => other.id !== node && liveness.isDead(other)).map(({ id }) => id)
    await adopt(dead)
    runner.cancel(await rows.cancelled())
    if (performance.now() - prunedMs < pruneEveryMs) return
    prunedMs = performance.now()
    await rows.prune(store.clock() - timing.historyMs)
  }

  async function adopt (dead: readonly string[]): Promise<void> {
    let jobs = await rows.adopt(dead)
    while (jobs.length > 0) {
      for (const job of jobs) runner.add(job)
      log.info({ jobs: jobs.length, from: dead }, 'jobs were taken over')
      jobs = await rows.adopt(dead)
    }
  }

  /** Whether this node's heartbeat is overdue, so that other nodes may have taken its jobs over. */
  function isFenced (): boolean {
    return performance.now() - own.seenMs > takeoverMs * 2 / 3
  }

  const checks = periodically(() => takeoverMs / checksPerTakeover, check, err => {
    const level = err instanceof StoreUnavailable ? 'warn' : 'error'
    log[level]({ err }, 'the jobs of other nodes could not be checked')
  }, { firstMs: 0 })
  return { isFenced, stop: () => checks.stop() }
}
