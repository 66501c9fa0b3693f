import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { prepareFiles } from '../../../store/sqlite-files.ts'
import type { Store } from '../../../store/store.ts'
import type { LedgerOptions } from '../options.ts'

/** A node as its row shows it, by the database's clock. */
export interface OtherNode {
  id: string
  epoch: number
  /** Milliseconds since 1970. */
  heartbeatAt: number
  /** How long ago its last heartbeat was. */
  silentMs: number
  /** How long a request of it may run. */
  requestMs: number
}

/** The columns of a node's row that make an `OtherNode`. */
export const otherNodeColumns = `
  id, epoch, heartbeat_at as "heartbeatAt", now_ms() - heartbeat_at as "silentMs", request_ms as "requestMs"`

/** How nodes show that they are alive, and detect that others are dead. */
export interface NodeLiveness {
  /** Claims a node id for this process. Rejects with an Error if another process has it. */
  enter (node: string): Promise<void>
  /** Whether a node is dead for certain, or has been silent so long that nothing it granted still runs. */
  isDead (node: OtherNode): boolean
  leave (): void
}

/** Uses lock files on SQLite, whose nodes share a machine; heartbeats on Postgres and in memory. */
export async function createNodeLiveness (
  store: Store, options: LeaseOptions, monotonic: () => number
): Promise<NodeLiveness> {
  if (store.engine === 'postgres') return createHeartbeatLiveness(options, monotonic)
  const main = await store.get<{ file: string }>("select file from pragma_database_list where name = 'main'")
  if (main === undefined || main.file === '') return createHeartbeatLiveness(options, monotonic)
  return createLockFileLiveness(main.file)
}

type LeaseOptions = Pick<LedgerOptions, 'leaseMs' | 'marginMs'>

/**
 * Creates liveness by heartbeats. A node is dead once it has been silent for as long as its lease and its
 * longest request can last, by the database's clock. That clock may jump, so this node also measures by its
 * monotonic clock for how long it has seen no heartbeat:
 *
 *     unseen ── first look ──▶ watched ── silent for the lease, and for the whole ──▶ dead
 *                               ▲    │     time by the database's clock; or watched
 *                               └────┘     in silence for the whole time
 *                              heartbeat
 */
export function createHeartbeatLiveness (
  { leaseMs, marginMs }: LeaseOptions, monotonic: () => number
): NodeLiveness {
  const watched = new Map<string, { heartbeatAt: number, sinceMs: number }>()
  return {
    enter: async () => {},
    isDead ({ id, heartbeatAt, silentMs, requestMs }) {
      const now = monotonic()
      const seen = watched.get(id)
      if (seen === undefined || seen.heartbeatAt !== heartbeatAt) {
        watched.set(id, { heartbeatAt, sinceMs: now })
        return false
      }
      const watchedMs = now - seen.sinceMs
      const safeMs = leaseMs + requestMs + marginMs
      const dead = watchedMs >= safeMs || (watchedMs >= leaseMs + marginMs && silentMs >= safeMs)
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
        await prepareFiles(path)
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

/** Returns null when another process holds the lock, or deletes the file at this moment. */
function lockFile (path: string): DatabaseSync | null {
  const lock = new DatabaseSync(path, { timeout: 0 })
  try {
    lock.exec('begin exclusive')
    return lock
  } catch (error) {
    lock.close()
    if (isTaken(error)) return null
    throw error
  }
}

/** Source: https://www.sqlite.org/rescode.html. A file that is deleted while it is opened is an I/O error. */
const codes = { busy: 5, ioError: 10 }

function isTaken (error: unknown): boolean {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number') return false
  const code = error.errcode & 0xff
  return code === codes.busy || code === codes.ioError
}
