import { setTimeout as sleep } from 'node:timers/promises'
import type { Store } from '../../../store/store.ts'

const pollMs = 20
const maxPolls = 100

/**
 * Returns a `seq` up to which no entry will be added any more, and every entry is visible to a statement that
 * begins now; null if transactions go on for too long. Throws StoreUnavailable.
 *
 * On Postgres, transactions may commit in another order than they took their numbers. One that has taken a
 * number holds a lock on the table until it ends, so wait for those that held it after the last number was
 * read. Source: CREATE INDEX CONCURRENTLY waits in the same way.
 */
export async function settledSeq (store: Pick<Store, 'engine' | 'get' | 'all'>): Promise<number | null> {
  const last = await store.get<{ seq: number }>('select coalesce(max(seq), 0) as seq from entry')
  const seq = last?.seq ?? 0
  if (store.engine === 'sqlite' || seq === 0) return seq
  let before: ReadonlySet<string> | null = null
  for (let polls = 0; polls < maxPolls; polls++) {
    const writers = new Set((await store.all<{ id: string }>(writersOfEntries)).map(({ id }) => id))
    before = before === null ? writers : before.intersection(writers)
    if (before.size === 0) return seq
    await sleep(pollMs)
  }
  return null
}

const writersOfEntries = `
  select virtualtransaction as id from pg_locks
  where locktype = 'relation' and relation = 'entry'::regclass and mode = 'RowExclusiveLock'
  and database = (select oid from pg_database where datname = current_database())`
