import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../store/store.ts'
import type { LedgerOptions } from '../options.ts'
import type { OtherNode } from './release-dead-nodes.ts'

/** How nodes show that they live, and how others can tell that one does not. */
export interface Presence {
  /** Makes this process the one of that id. Rejects with an Error when another process is. */
  enter (node: string): Promise<void>
  /**
   * Whether a node is dead for certain, or has been silent for so long that nothing it granted still runs.
   */
  isGone (node: OtherNode): boolean
  leave (): void
}

interface Clocks {
  /** Milliseconds since 1970. */
  clock: () => number
  /** Milliseconds of a clock that is never set. */
  monotonic: () => number
}

/**
 * Nodes on one SQLite file are processes on one machine, which can know at once whether a process lives; on
 * Postgres, and in memory, only their signs of life tell.
 */
export async function createPresence (
  store: Store, options: LedgerOptions, clocks: Clocks
): Promise<Presence> {
  if (store.engine === 'postgres') return createBeatPresence(options, clocks)
  const main = await store.get<{ file: string }>("select file from pragma_database_list where name = 'main'")
  return main === undefined || main.file === '' ? createBeatPresence(options, clocks) : createFilePresence(main.file)
}

/**
 * A node is gone when its sign of life has stood still for as long as its lease and its longest request can
 * last. Watching it here needs no agreement between clocks. A node that was silent long before this one began
 * to watch is known by the time in its last sign, once the lease has passed under watch.
 */
export function createBeatPresence (options: LedgerOptions, { clock, monotonic }: Clocks): Presence {
  const { leaseMs, marginMs, maxRequestMs } = options
  const watched = new Map<string, { beat: number, sinceMs: number }>()
  return {
    enter: async () => {},
    isGone ({ id, beat }) {
      const now = monotonic()
      const seen = watched.get(id)
      if (seen === undefined || seen.beat !== beat) {
        watched.set(id, { beat, sinceMs: now })
        return false
      }
      const silentMs = now - seen.sinceMs
      const silentByClockMs = clock() - beat
      const safeMs = leaseMs + maxRequestMs + marginMs
      const gone = silentMs >= safeMs || (silentMs >= leaseMs + marginMs && silentByClockMs >= safeMs)
      if (gone) watched.delete(id)
      return gone
    },
    leave: () => watched.clear()
  }
}

const maxAttempts = 20
const attemptEveryMs = 50

/**
 * Each process keeps a lock on a file of its own beside the database. The system takes the lock away when the
 * process ends in whatever way, and no number of a process is compared that another one may have by now,
 * perhaps in another container. SQLite does the locking, since Node.js offers none.
 */
export function createFilePresence (database: string): Presence {
  let own: { lock: DatabaseSync, path: string } | null = null
  const pathOf = (node: string) => `${database}-node-${node}`
  return {
    async enter (node) {
      const path = pathOf(node)
      for (let attempts = 1; own === null; attempts++) {
        const lock = lockFile(path)
        // A process that has just found the file without an owner may hold the lock for a moment, and remove
        // it.
        if (lock !== null && existsSync(path)) own = { lock, path }
        else lock?.close()
        if (own === null && attempts === maxAttempts) throw new Error(`Another process is the node ${node} of ${database}.`)
        if (own === null) await sleep(attemptEveryMs)
      }
    },
    isGone ({ id }) {
      const path = pathOf(id)
      // A copy of a database comes without the files of the processes that used the original.
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

/** Returns the lock, which ends when it is closed; null when somebody has it. */
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
