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

/** Sums of some accounts, over the entries up to number `until` that are dated before `before`. */
export interface SumsOfAccounts { accounts: readonly string[], until: number, before: number }

export const noSums: LineSums = Object.freeze({
  deposits: 0, withdrawals: 0, transfers_in: 0, transfers_out: 0, adjustments: 0, usage: 0, refunds: 0
})

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
