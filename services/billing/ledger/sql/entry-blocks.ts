import type { Store } from '../../../store/store.ts'

/** About as many entries as are scanned in a millisecond. */
const blockSize = 4_096
const blocksAtOnce = 100

/**
 * Records the earliest and latest time of each full block of entries, so that those of a period are found
 * without an index that every request pays for. Entries are append-only, so a recorded block stays true.
 * Postgres has a BRIN index instead. Throws StoreUnavailable.
 */
export async function recordEntryBlocks (store: Pick<Store, 'engine' | 'run'>): Promise<void> {
  if (store.engine !== 'sqlite') return
  let left = blocksAtOnce
  while (left > 0 && await store.run(recordBlock, [blockSize]) > 0) left--
}

const recordBlock = `
  insert into entry_block (first, last, earliest, latest)
  select min(seq), max(seq), min(at), max(at) from (
    select seq, at from entry where seq > coalesce((select max(last) from entry_block), 0) order by seq limit $1
  ) having count(*) = $1`

/** Returns the `from` clause for entries from one parameter up to, excluding, the other; ms since 1970. */
export function entriesOfPeriod (engine: Store['engine'], from = '$1', to = '$2'): string {
  if (engine === 'postgres') return 'entry'
  return `(
      select first, last from entry_block where latest >= ${from} and earliest < ${to}
      union all select coalesce(max(last), 0) + 1, ${Number.MAX_SAFE_INTEGER} from entry_block
    ) as block cross join entry on entry.seq between block.first and block.last`
}

/**
 * Returns the condition that an entry of a period has at most this number. By the plain column, Postgres
 * would read all entries up to it, by their primary key.
 */
export function isAtMost (seq: string): string {
  return `entry.seq + 0 <= ${seq}`
}

/**
 * Returns the condition that an entry of a period is of a request or job. By the plain column, SQLite would
 * read all entries to build an index for the one query.
 */
export function refIs (place: string): string {
  return `entry.ref || '' = ${place}`
}
