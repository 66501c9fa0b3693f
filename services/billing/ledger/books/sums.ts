import { createJsonIds } from '../../../store/json-rows.ts'
import type { Store } from '../../../store/store.ts'

/** The lines of a statement. Amounts are signed: opening balance and lines make the closing balance. */
export const statementLines = [
  'deposits', 'withdrawals', 'transfers_in', 'transfers_out', 'adjustments', 'usage', 'refunds'
] as const
export type StatementLine = typeof statementLines[number]

/** What an account has come to, by line; integer nano-USD. */
export type LineSums = Readonly<Record<StatementLine, number>>

/** By account; one that is missing has come to nothing. */
export type SumsByAccount = ReadonlyMap<string, LineSums>

export interface SumRow { account: string, line: StatementLine, amount: number }

/** The entries to sum up. */
export interface EntryRange {
  /** Entries after this number, up to `until`. */
  after: number
  until: number
  /** Dated before this time, and not in `closed`. */
  before: number
  /** All entries up to `lastEntry` that are dated before `endsAt` are left out. */
  closed: { endsAt: number, lastEntry: number } | null
}

/** Sums of some accounts, over the entries up to number `until` that are dated before `before`. */
export interface SumsOfAccounts extends Pick<EntryRange, 'until' | 'before'> {
  accounts: readonly string[]
}

export const noSums: LineSums = Object.freeze({
  deposits: 0, withdrawals: 0, transfers_in: 0, transfers_out: 0, adjustments: 0, usage: 0, refunds: 0
})

/** Entries in one statement, which takes some 20 ms. */
const sliceSize = 20_000

/** Sums up a range of entries in slices. Throws StoreUnavailable. */
export async function sumEntries (
  { reports }: Pick<Store, 'reports'>, { after, until, before, closed }: EntryRange
): Promise<SumsByAccount> {
  const sums = new Map<string, Record<StatementLine, number>>()
  const { endsAt, lastEntry } = closed ?? { endsAt: 0, lastEntry: 0 }
  for (let first = after; first < until; first += sliceSize) {
    const slice = [first, Math.min(first + sliceSize, until)]
    addRows(sums, await reports.all<SumRow>(sumsOfAll, [...slice, before, endsAt, lastEntry]))
  }
  return sums
}

/** Sums up all lines but usage and refunds. Throws StoreUnavailable. */
export async function sumMovements (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>, { accounts, until, before }: SumsOfAccounts
): Promise<SumsByAccount> {
  const sums = new Map<string, Record<StatementLine, number>>()
  const given = createJsonIds(engine)
  addRows(sums, await reports.all<SumRow>(`
    select movement.account, ${lineOfMovement} as line, cast(sum(movement.amount) as bigint) as amount
    from movement join entry on entry.seq = movement.entry
    where movement.account in (select id from ${given.sql} as given) and movement.entry <= $2 and entry.at < $3
    group by 1, 2 having sum(movement.amount) <> 0`, [given.parameter(accounts), until, before]))
  return sums
}

/** Adds the amounts of rows to sums. */
export function addRows (sums: Map<string, Record<StatementLine, number>>, rows: readonly SumRow[]): void {
  for (const { account, line, amount } of rows) {
    const ofAccount = sums.get(account) ?? { ...noSums }
    ofAccount[line] += amount
    sums.set(account, ofAccount)
  }
}

/** Returns the sums of both. */
export function combined (one: SumsByAccount, other: SumsByAccount): SumsByAccount {
  const sums = new Map(Array.from(one, ([account, lines]) => [account, { ...lines }]))
  for (const [account, lines] of other) addRows(sums, toRows(account, lines))
  return sums
}

/** Returns the lines of an account that are not zero. */
export function toRows (account: string, lines: LineSums): SumRow[] {
  return statementLines.flatMap(line => lines[line] === 0 ? [] : [{ account, line, amount: lines[line] }])
}

/** Returns the balance that lines come to. */
export function balanceOf (lines: LineSums): number {
  return statementLines.reduce((sum, line) => sum + lines[line], 0)
}

const lineOfMovement = `case entry.kind
  when 'deposit' then 'deposits' when 'withdraw' then 'withdrawals' when 'adjust' then 'adjustments'
  else case when movement.amount < 0 then 'transfers_out' else 'transfers_in' end end`

const inRange = 'entry.seq > $1 and entry.seq <= $2 and entry.at < $3 and (entry.at >= $4 or entry.seq > $5)'

const sumsOfAll = `
  select account, line, cast(sum(amount) as bigint) as amount from (
    select movement.account, movement.amount, ${lineOfMovement} as line
    from entry join movement on movement.entry = entry.seq where ${inRange}
    union all
    select chain.account, case posted.kind when 'usage' then -nano else nano end,
      case posted.kind when 'usage' then 'usage' else 'refunds' end
    from (
      select chain, kind, cast(sum(amount) as bigint) as nano from entry
      where ${inRange} and kind in ('usage', 'refund') group by chain, kind
    ) as posted join chain on chain.id = posted.chain
  ) as posted where account in (select id from account where kind = 'account')
  group by account, line having sum(amount) <> 0`
