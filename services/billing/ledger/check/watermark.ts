import { createJsonRows } from '../../../store/json-rows.ts'
import type { Store, Value } from '../../../store/store.ts'
import type { AccountSums } from './sums.ts'

/** How far the books were checked. */
export interface Watermark {
  /** All entries up to this number. */
  seq: number
  /** When that check began, by the clock of the database; ms since 1970. */
  checkedAt: number
}

/** Of books that were never checked; all sums start at zero. */
export const unchecked: Watermark = { seq: 0, checkedAt: 0 }

interface SumRow extends Record<string, Value> { account: string, spent: number, credits: number }

/** Accounts in one statement: few, because on SQLite it blocks the event loop. */
const rowsAtOnce = 200

/** Reads the watermark. */
export async function readWatermark ({ reports }: Pick<Store, 'reports'>): Promise<Watermark> {
  return await reports.get<Watermark>('select seq, checked_at as "checkedAt" from verified_until') ?? unchecked
}

interface Move {
  present: Watermark
  next: Watermark
  /** Of the entries after `base`, which is `present` or `unchecked`. */
  sums: Iterable<AccountSums>
  base: Watermark
}

/**
 * Moves the watermark, in small statements: every row is the sum up to its own number, so it is true whatever
 * becomes of the check that wrote it. Resolves with false, and nothing that is read has changed, when another
 * check has moved the watermark meanwhile.
 */
export async function moveWatermark (
  store: Pick<Store, 'engine' | 'run'>, { present, base, next, sums }: Move
): Promise<boolean> {
  const table = createJsonRows<SumRow>(store.engine, { account: 'text', spent: 'bigint', credits: 'bigint' })
  const chunks = Array.from(toChunks(sums), rows => table.parameter(rows))
  await store.run('insert into verified_until (id, seq, checked_at) values (1, 0, 0) on conflict do nothing')
  for (const chunk of chunks) {
    const written = await store.run(`
      insert into verified_sum (account, seq, spent, credits)
      select given.account, cast($3 as bigint), given.spent + coalesce(base.spent, 0), given.credits + coalesce(base.credits, 0)
      from ${table.sql} as given
      left join verified_sum as base on base.account = given.account and base.seq = (
        select max(seq) from verified_sum as last where last.account = given.account and last.seq <= $4)
      where exists (select 1 from verified_until where seq = $2)
      on conflict (account, seq) do update set spent = excluded.spent, credits = excluded.credits`,
    [chunk, present.seq, next.seq, base.seq])
    if (written === 0) return false
  }
  const moved = await store.run('update verified_until set seq = $1, checked_at = $2 where seq = $3',
    [next.seq, next.checkedAt, present.seq])
  if (moved === 0) return false
  for (const chunk of chunks) {
    await store.run(`
      delete from verified_sum where account in (select account from ${table.sql} as given) and seq <> $2`,
    [chunk, next.seq])
  }
  return true
}

function * toChunks (sums: Iterable<AccountSums>): Generator<SumRow[]> {
  const rows: SumRow[] = []
  for (const { account, spentNano, creditsNano } of sums) {
    rows.push({ account, spent: spentNano, credits: creditsNano })
    if (rows.length === rowsAtOnce) yield rows.splice(0)
  }
  if (rows.length > 0) yield rows
}
