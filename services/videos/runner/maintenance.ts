import type { NodeLiveness } from '../../billing/ledger/cluster/node-liveness.ts'
import { periodically } from '../../shared/timers.ts'
import { StoreUnavailable } from '../../store/store.ts'
import { createHandOver } from './hand-over-jobs.ts'
import type { RunnerContext } from './runner-context.ts'
import type { ClientPresence } from '../../requests/joins/client-presence.ts'
import type { Runner } from './runner.ts'

interface MaintenanceOptions {
  node: string
  takeoverMs: number
  liveness: NodeLiveness
  runner: Runner
  clientPresence: ClientPresence
}

const pruneEveryMs = 3_600_000
/** A takeover of 15 s is checked every 1.9 s, so jobs of a dead node are adopted within 19 s. */
const checksPerTakeover = 8

/**
 * Adopts the jobs of dead nodes and those that draining and closing nodes left, cancels and prunes. A
 * draining node leaves its jobs instead. The ledger writes the heartbeats.
 */
export function startMaintenance (
  context: RunnerContext, { node, takeoverMs, liveness, runner, clientPresence }: MaintenanceOptions
) {
  const { store, rows, log, timing } = context
  const handOver = createHandOver(context, runner, takeoverMs / 3)
  let draining = false
  let lastBeat = { heartbeatAt: -1, seenMs: performance.now() }
  let prunedMs = -Infinity
  let wasFenced = false

  async function check (): Promise<void> {
    const readMs = performance.now()
    const owners = await rows.owners()
    const self = owners.find(({ id }) => id === node)
    if (self !== undefined && self.heartbeatAt !== lastBeat.heartbeatAt) {
      lastBeat = { heartbeatAt: self.heartbeatAt, seenMs: readMs }
    }
    if (isFenced()) {
      wasFenced = true
      return
    }
    // Other nodes may have forgotten the clients that wait here.
    if (wasFenced) await clientPresence.restore()
    wasFenced = false
    const dead = owners.filter(other => other.id !== node && liveness.isDead(other)).map(({ id }) => id)
    if (dead.length > 0) await rows.forgetWaiters(dead, store.clock())
    if (draining && await rows.hasPeers(takeoverMs)) await handOver()
    else await adoptJobs(context, runner, dead)
    runner.cancel(await rows.cancelled())
    runner.abandon(await rows.deleted())
    if (performance.now() - prunedMs < pruneEveryMs) return
    prunedMs = performance.now()
    await rows.prune(store.clock() - timing.historyMs)
  }

  /** Whether this node's heartbeat is overdue, so that other nodes may have taken its jobs over. */
  function isFenced (): boolean {
    return performance.now() - lastBeat.seenMs > takeoverMs * 2 / 3
  }

  function onError (err: unknown): void {
    log[err instanceof StoreUnavailable ? 'warn' : 'error']({ err }, 'the jobs of other nodes could not be checked')
  }

  const start = () => periodically(() => takeoverMs / checksPerTakeover, check, onError, { firstMs: 0 })
  let [checks, stopped] = [start(), false]
  return {
    isFenced,
    /** Leaves the jobs of this node to other nodes from now on, while there are any. */
    async drain (): Promise<void> {
      draining = true
      await checks.stop()
      if (!stopped) checks = start()
    },
    async stop (): Promise<void> {
      stopped = true
      await checks.stop()
    }
  }
}

/** Takes over the jobs of dead nodes and those without an owner. */
async function adoptJobs (
  { rows, log }: RunnerContext, runner: Pick<Runner, 'add'>, dead: readonly string[]
): Promise<void> {
  for (let jobs = await rows.adopt(dead); jobs.length > 0; jobs = await rows.adopt(dead)) {
    for (const job of jobs) runner.add(job)
    log.info({ jobs: jobs.length, from: dead }, 'jobs were taken over')
  }
}
