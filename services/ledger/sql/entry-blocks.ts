import type { Store } from '../../store/store.ts'

/** As many entries as are looked through in a millisecond. */
const blockSize = 4_096
const blocksAtOnce = 100

/**
 * Notes for full blocks of entries from when to when they reach, so that those of a period are found. Entries
 * never change and are only added behind, so what is noted stays true, whatever the clocks do; what is not
 * noted yet is looked through. To be called again and again. On Postgres an index does it. Throws
 * StoreUnavailable.
 */
export async function noteEntryBlocks (store: Pick<Store, 'engine' | 'run'>): Promise<void> {
  if (store.engine !== 'sqlite') return
  let left = blocksAtOnce
  while (left > 0 && await store.run(noteBlock, [blockSize]) > 0) left--
}

const noteBlock = `
  insert into entry_block (first, last, earliest, latest)
  select min(seq), max(seq), min(at), max(at) from (
    select seq, at from entry where seq > coalesce((select max(last) from entry_block), 0) order by seq limit $1
  ) having count(*) = $1`

/**
 * The table `entry`, as it is to be named behind `from`: all blocks in which something of a period may be.
 * The statement takes its beginning and its end, which is not included, as `$1` and `$2`, in ms since 1970.
 */
export function entriesAround (engine: Store['engine']): string {
  if (engine === 'postgres') return 'entry'
  return `(
      select first, last from entry_block where latest >= $1 and earliest < $2
      union all select coalesce(max(last), 0) + 1, ${Number.MAX_SAFE_INTEGER} from entry_block
    ) as block cross join entry on entry.seq between block.first and block.last`
}
