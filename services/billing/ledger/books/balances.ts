import { entriesOfPeriod } from '../sql/entry-blocks.ts'
import { createJsonIds } from '../../../store/json-rows.ts'
import type { Store } from '../../../store/store.ts'
import { findLastEntry } from '../check/last-entry.ts'
import { sumChainDays } from './chain-days.ts'
import { readClosedMonths, type ClosedMonth } from './months.ts'
import { addRows, combined, sumEntries, sumMovements, type StatementLine, type SumRow, type SumsByAccount } from './sums.ts'

type Reader = Pick<Store, 'engine' | 'reports'>

/** The books at one moment: entries that are booked later change nothing in what is read of it. */
export interface BooksView {
  closed: readonly ClosedMonth[]
  lastEntry: number
}

/** Looks at the books as they are now. Throws StoreUnavailable. */
export async function viewBooks (store: Reader): Promise<BooksView> {
  // The months first: one that is closed meanwhile has entries up to a later one.
  const closed = await readClosedMonths(store.reports)
  const { seq } = await findLastEntry(store)
  return { closed, lastEntry: seq }
}

/**
 * Returns what some accounts have come to by the entries before a time, in ms since 1970, from the sums of
 * days. In a closed month, only those count that were booked before it was closed. Throws StoreUnavailable.
 */
export async function sumsBefore (
  store: Reader, { closed, lastEntry }: BooksView, before: number, accounts: readonly string[]
): Promise<SumsByAccount> {
  const own = closed.find(({ endsAt }) => endsAt === before)
  if (own !== undefined) return await readClosingSums(store, own, accounts)
  const within = closed.find(({ endsAt }) => endsAt > before)
  const selection = { accounts, before, until: Math.min(lastEntry, within?.lastEntry ?? Infinity) }
  return combined(await sumMovements(store, selection), await sumChainDays(store, selection))
}

/**
 * As `sumsBefore` of all accounts, by the last month that was closed until then and every entry after it, for
 * figures that never change again: sums of days are derived from the entries. Throws StoreUnavailable.
 */
export async function sumEntriesBefore (
  store: Reader, { closed, lastEntry }: BooksView, before: number
): Promise<SumsByAccount> {
  const base = closed.findLast(({ endsAt }) => endsAt <= before) ?? null
  const within = closed.find(({ endsAt }) => endsAt > before)
  const baseSums = base === null ? new Map() : await readClosingSums(store, base)
  if (base?.endsAt === before) return baseSums
  const until = Math.min(lastEntry, within?.lastEntry ?? Infinity)
  const after = base === null ? 0 : await firstAfterMonth(store, base) - 1
  return combined(baseSums, await sumEntries(store, { after, until, before, closed: base }))
}

/** Reads what some accounts, or all, had come to at the end of a closed month. Throws StoreUnavailable. */
export async function readClosingSums (
  { engine, reports }: Reader, { closing }: Pick<ClosedMonth, 'closing'>, accounts?: readonly string[]
): Promise<SumsByAccount> {
  const sums = new Map<string, Record<StatementLine, number>>()
  const given = createJsonIds(engine)
  addRows(sums, accounts === undefined
    ? await reports.all<SumRow>('select account, line, amount from closing_sum where closing = $1', [closing])
    : await reports.all<SumRow>(`
      select account, line, amount from closing_sum
      where closing = $2 and account in (select id from ${given.sql} as given)`, [given.parameter(accounts), closing]))
  return sums
}

/** The number of the first entry that may count in a later month. Throws StoreUnavailable. */
export async function firstAfterMonth (
  { engine, reports }: Reader, { endsAt, lastEntry }: Pick<ClosedMonth, 'endsAt' | 'lastEntry'>
): Promise<number> {
  const first = await reports.get<{ seq: number | null }>(`
    select min(entry.seq) as seq from ${entriesOfPeriod(engine)} where entry.at >= $1 and entry.at < $2`,
  [endsAt, Number.MAX_SAFE_INTEGER])
  return Math.min(lastEntry + 1, first?.seq ?? Infinity)
}
