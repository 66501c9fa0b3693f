import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../store/store.ts'
import type { LedgerOptions } from '../options.ts'
import type { NodeContext } from '../types.ts'

/** A node as its row shows it; times are its own clock's, in ms since 1970. */
export interface OtherNode { id: string, epoch: number, heartbeatAt: number }

/** How nodes show that they are alive, and detect that others are dead. */
export interface NodeLiveness {
  /** Claims a node id for this process. Rejects with an Error if another process has it. */
  enter (node: string): Promise<void>
  /** Whether a node is dead for certain, or has been silent so long that nothing it granted still runs. */
  isDead (node: OtherNode): boolean
  leave (): void
}

type Clocks = Pick<NodeContext, 'clock' | 'monotonic'>

/** Uses lock files on SQLite, whose nodes share a machine; heartbeats on Postgres and in memory. */
export async function createNodeLiveness (
  store: Store, options: LedgerOptions, clocks: Clocks
): Promise<NodeLiveness> {
  if (store.engine === 'postgres') return createHeartbeatLiveness(options, clocks)
  const main = await store.get<{ file: string }>("select file from pragma_database_list where name = 'main'")
  if (main === undefined || main.file === '') return createHeartbeatLiveness(options, clocks)
  return createLockFileLiveness(main.file)
}

/**
 * A node is dead once its heartbeat has not changed for as long as its lease and its longest request can
 * last, by this node's clock. If it was silent long before this node began to watch, the time of its last
 * heartbeat counts, once it was silent under watch for the lease.
 */
export function createHeartbeatLiveness (options: LedgerOptions, { clock, monotonic }: Clocks): NodeLiveness {
  const { leaseMs, marginMs, maxRequestMs } = options
  const watched = new Map<string, { heartbeatAt: number, sinceMs: number }>()
  return {
    enter: async () => {},
    isDead ({ id, heartbeatAt }) {
      const now = monotonic()
      const seen = watched.get(id)
      if (seen === undefined || seen.heartbeatAt !== heartbeatAt) {
        watched.set(id, { heartbeatAt, sinceMs: now })
        return false
      }
      const silentMs = now - seen.sinceMs
      const silentByClockMs = clock() - heartbeatAt
      const safeMs = leaseMs + maxRequestMs + marginMs
      const dead = silentMs >= safeMs || (silentMs >= leaseMs + marginMs && silentByClockMs >= safeMs)
      if (dead) watched.delete(id)
      return dead
    },
    leave: () => watched.clear()
  }
}

const maxAttempts = 20
const attemptEveryMs = 50

/**
 * Creates liveness by lock files, which the system releases however a process ends. Process ids would be
 * reused, or belong to another container. SQLite does the locking, since Node.js has no file locks.
 */
export function createLockFileLiveness (database: string): NodeLiveness {
  let own: { lock: DatabaseSync, path: string } | null = null
  const pathOf = (node: string) => `${database}-node-${node}`
  return {
    async enter (node) {
      const path = pathOf(node)
      for (let attempts = 1; own === null; attempts++) {
        const lock = lockFile(path)
        // A process that just found the file without an owner may hold the lock briefly, and delete it.
        if (lock !== null && existsSync(path)) own = { lock, path }
        else lock?.close()
        if (own !== null) return
        if (attempts === maxAttempts) throw new Error(`Another process is the node ${node} of ${database}.`)
        await sleep(attemptEveryMs)
      }
    },
    isDead ({ id }) {
      const path = pathOf(id)
      // A copied database comes without the lock files of the original's processes.
      if (!existsSync(path)) return true
      const lock = lockFile(path)
      if (lock === null) return false
      rmSync(path, { force: true })
      lock.close()
      return true
    },
    leave () {
      if (own === null) return
      rmSync(own.path, { force: true })
      own.lock.close()
      own = null
    }
  }
}

/** Returns null when another process holds the lock. */
function lockFile (path: string): DatabaseSync | null {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if (isBusy(error)) return null
    throw error
  }
}

const busy = 5

function isBusy (error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error)) return false
  return typeof error.errcode === 'number' && (error.errcode & 0xff) === busy
}
