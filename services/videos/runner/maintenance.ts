import type { NodeLiveness } from '../../ledger/cluster/node-liveness.ts'
import type { Timers } from '../../shared/timers.ts'
import { StoreUnavailable } from '../../store/store.ts'
import type { RunnerContext } from './runner-context.ts'
import type { Runner } from './runner.ts'

/** What a node does for its jobs beside working on them. */
export interface Upkeep {
  /** Whether this node has given no sign of life for so long that others may have taken its jobs. */
  isFenced (): boolean
  stop (): Promise<void>
}

interface UpkeepOptions {
  node: string
  takeoverMs: number
  liveness: NodeLiveness
  timers: Timers
  monotonic: () => number
  runner: () => Runner
}

const pruneEveryMs = 3_600_000
/**
 * A node that dies is seen alive up to one look later, and seen dead up to one look late: with 15 s that are
 * 19 s at most.
 */
const looksPerTakeover = 8

/**
 * Takes over the jobs of nodes that have died, and those that ended in good order left. How nodes show that
 * they live is the ledger's affair: here their signs are only watched, this node's own among them.
 */
export function startUpkeep (context: RunnerContext, options: UpkeepOptions): Upkeep {
  const { node, takeoverMs, liveness, timers, monotonic, runner } = options
  const { rows, log, clock, timing } = context
  const everyMs = takeoverMs / looksPerTakeover
  let own = { heartbeatAt: -1, seenMs: monotonic() }
  let prunedMs = -Infinity
  let stopped = false

  async function look (): Promise<void> {
    const askedMs = monotonic()
    const owners = await rows.owners()
    const self = owners.find(({ id }) => id === node)
    if (self !== undefined && self.heartbeatAt !== own.heartbeatAt) {
      own = { heartbeatAt: self.heartbeatAt, seenMs: askedMs }
    }
    if (isFenced()) return
    const dead = owners.filter(other => other.id !== node && liveness.isDead(other)).map(({ id }) => id)
    await adopt(dead)
    runner().cancel(await rows.cancelled())
    if (monotonic() - prunedMs < pruneEveryMs) return
    prunedMs = monotonic()
    await rows.prune(clock() - timing.historyMs)
  }

  async function adopt (dead: readonly string[]): Promise<void> {
    let jobs = await rows.adopt(dead)
    while (jobs.length > 0) {
      for (const job of jobs) runner().add(job)
      log.info({ jobs: jobs.length, from: dead }, 'jobs were taken over')
      jobs = await rows.adopt(dead)
    }
  }

  function isFenced (): boolean {
    return monotonic() - own.seenMs > takeoverMs * 2 / 3
  }

  let cancel = timers.inBackground(0, run)
  let underWay = Promise.resolve()
  function run (): void {
    underWay = look().catch(err => {
      const level = err instanceof StoreUnavailable ? 'warn' : 'error'
      log[level]({ err }, 'the jobs of other nodes could not be looked at')
    }).then(() => {
      if (!stopped) cancel = timers.inBackground(everyMs, run)
    })
  }

  return {
    isFenced,
    async stop () {
      stopped = true
      cancel()
      await underWay
    }
  }
}
