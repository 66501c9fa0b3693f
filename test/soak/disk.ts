import { existsSync, readdirSync, statSync } from 'node:fs'
import type { Store } from '../../services/store/store.ts'

/** What a node keeps outside its memory. */
export interface DiskUse {
  /** Files and sockets that are open; NaN where the system does not say. */
  handles: number
  databaseBytes: number
  /** Of the write-ahead log of SQLite. */
  walBytes: number
  /** Rows of the log of requests. */
  logRows: number
  mediaFiles: number
}

interface Places { store: Store, database: string, media: string }

/** Measures what is kept at these places. */
export async function diskUse ({ store, database, media }: Places): Promise<DiskUse> {
  const [log] = await store.all<{ rows: number }>('select count(*) as rows from request_log')
  return {
    handles: existsSync(handlesFolder) ? readdirSync(handlesFolder).length : NaN,
    databaseBytes: sizeOf(database),
    walBytes: sizeOf(`${database}-wal`),
    logRows: log?.rows ?? NaN,
    mediaFiles: existsSync(media)
      ? readdirSync(media, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length
      : 0
  }
}

const handlesFolder = '/proc/self/fd'
const dayMs = 86_400_000

/**
 * Makes what is older than `ageMs` as old as its retention, so that the gateway's own rounds have to remove
 * it within the soak.
 */
export async function age (store: Store, ageMs: number): Promise<void> {
  const before = store.clock() - ageMs
  await store.run('update request_log set at = at - $1 where at < $2 and at > $3',
    [40 * dayMs, before, before - 30 * dayMs])
  await store.run('update media set expires_at = created_at where created_at < $1 and expires_at > created_at', [before])
}

function sizeOf (path: string): number {
  return existsSync(path) ? statSync(path).size : 0
}
