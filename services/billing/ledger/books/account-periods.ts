import { createJsonIds } from '../../../store/json-rows.ts'
import type { Store } from '../../../store/store.ts'
import { entriesOfPeriod } from '../sql/entry-blocks.ts'

/** The lines of a statement. Amounts are signed: opening balance and lines make the closing balance. */
export const statementLines = [
  'deposits', 'withdrawals', 'transfers_in', 'transfers_out', 'adjustments', 'usage', 'refunds'
] as const
export type StatementLine = typeof statementLines[number]

/** From `from` up to, excluding, `to`; milliseconds since 1970. */
interface PeriodTimes { from: number, to: number }

/** The entries of a period that count for an account; integer nano-USD. */
export interface AccountPeriod {
  openingNano: number
  lines: Record<StatementLine, number>
  closingNano: number
}

interface SumRow {
  account: string
  /** Now. */
  balanceNano: number
  /** Null for an account without entries since the beginning of the period. */
  line: StatementLine | null
  isWithin: number
  amountNano: number
}

/**
 * Sums up the entries of a period for some accounts. Balances are counted back from those of today, so only
 * entries since `from` are read, in one statement and so on one snapshot. Throws StoreUnavailable.
 */
export async function sumPeriod (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>, { from, to }: PeriodTimes, accounts: readonly string[]
): Promise<Map<string, AccountPeriod>> {
  const given = createJsonIds(engine)
  const isByChain = engine === 'sqlite' || accounts.length === 1
  const select = sumsOf(engine, `select id from ${given.sql} as given`, isByChain)
  const params = [given.parameter(accounts), from, to, Number.MAX_SAFE_INTEGER]
  const rows = await reports.all<SumRow>(select, params)
  const byAccount = Map.groupBy(rows, ({ account }) => account)
  return new Map(Array.from(byAccount, ([account, sums]) => [account, toPeriod(sums)]))
}

function toPeriod (rows: readonly SumRow[]): AccountPeriod {
  const lines = {
    deposits: 0, withdrawals: 0, transfers_in: 0, transfers_out: 0, adjustments: 0, usage: 0, refunds: 0
  }
  let [closingNano, movedNano] = [rows[0]?.balanceNano ?? 0, 0]
  for (const { line, isWithin, amountNano } of rows) {
    if (line === null) continue
    if (isWithin === 0) {
      closingNano -= amountNano
    } else {
      lines[line] += amountNano
      movedNano += amountNano
    }
  }
  return { openingNano: closingNano - movedNano, lines, closingNano }
}

/**
 * `$2` and `$3` are the period, `$4` is beyond all times. Postgres has an index of chains, which is fast for
 * one account; for many, reading every entry since `from` is ten times as fast.
 */
function sumsOf (engine: Store['engine'], given: string, isByChain: boolean): string {
  const ofChains = isByChain ? `and chain in (select id from chain where account in (${given}))` : ''
  return `
    with posted as (
      select chain, kind, ${isWithin} as "isWithin", cast(sum(amount) as bigint) as amount
      from ${entriesOfPeriod(engine, '$2', '$4')}
      where entry.at >= $2 and entry.at < $4 and kind in ('usage', 'refund')
      and chain is not null ${ofChains}
      group by 1, 2, 3
    ), change as (
      select chain.account, case posted.kind when 'usage' then 'usage' else 'refunds' end as line, "isWithin",
        case posted.kind when 'usage' then -posted.amount else posted.amount end as amount
      from posted join chain on chain.id = posted.chain
      where chain.account in (${given})
      union all
      select movement.account, ${lineOfMovement}, ${isWithin}, movement.amount
      from movement join entry on entry.seq = movement.entry
      where movement.account in (${given}) and entry.at >= $2 and entry.at < $4
    )
    select account.id as account, credits - spent as "balanceNano", line, coalesce("isWithin", 0) as "isWithin",
      cast(coalesce(sum(change.amount), 0) as bigint) as "amountNano"
    from account left join change on change.account = account.id
    where account.id in (${given})
    group by account.id, line, "isWithin"`
}

const isWithin = 'case when entry.at < $3 then 1 else 0 end'

const lineOfMovement = `case entry.kind
  when 'deposit' then 'deposits' when 'withdraw' then 'withdrawals' when 'adjust' then 'adjustments'
  else case when movement.amount < 0 then 'transfers_out' else 'transfers_in' end end`
