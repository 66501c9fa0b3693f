import type { Queries } from '../store/store.ts'
import { entryIdSql } from './entry-id.ts'

/** A rule of the books that is broken. */
export interface Violation {
  rule: string
  /** Id of the account, entry or hold. */
  subject: string
  /** Money in integer nano-USD. */
  expected: number | string | null
  found: number | string | null
}

const maxViolationsPerRule = 100

/**
 * Returns up to a hundred violations of each rule of the books; requests may go on meanwhile, since each rule
 * is one statement on one snapshot. Throws StoreUnavailable.
 */
export async function checkLedger (queries: Pick<Queries, 'all'>): Promise<Violation[]> {
  const violations: Violation[] = []
  for (const [rule, sql] of Object.entries(rules)) {
    const rows = await queries.all<Omit<Violation, 'rule'>>(`${sql} order by 1 limit ${maxViolationsPerRule}`)
    violations.push(...rows.map((row) => ({ rule, ...row })))
  }
  return violations
}

/** Budgets have no deposits: their credits are a limit, which may be lowered at will. */
const rules = {
  'held is the sum of open holds': `
    select * from (
      select id as subject, held as found, (
        select cast(coalesce(sum(amount), 0) as bigint) from hold where hold.account = account.id and state = 0
      ) as expected from account
    ) as compared where found <> expected`,

  'spent is usage less refunds': `
    select * from (
      select account.id as subject, account.spent as found, cast(coalesce(sum(
        case entry.kind when 'usage' then entry.amount when 'refund' then -entry.amount end), 0) as bigint) as expected
      from account
      left join chain on chain.account = account.id
      left join entry on entry.chain = chain.id and entry.kind in ('usage', 'refund')
      group by account.id, account.spent
    ) as compared where found <> expected`,

  'credits are deposits and adjustments': `
    select * from (
      select id as subject, credits as found, cast(coalesce(nano, 0) as bigint) as expected
      from account left join (
        select moved.account, sum(moved.amount) as nano from (
          select credit as account, amount from entry where kind in ('deposit', 'adjust')
          union all select debit, -amount from entry where kind in ('deposit', 'adjust')
        ) as moved group by moved.account
      ) as summed on summed.account = account.id where kind = 'account'
    ) as compared where found <> expected`,

  'no account is overdrawn': `
    select id as subject, 0 as expected, credits - spent - held as found
    from account where kind = 'account' and credits - spent - held < 0`,

  'a hold has at most one usage entry': `
    select hold as subject, 1 as expected, count(*) as found from entry
    where kind = 'usage' and hold is not null group by hold having count(*) > 1`,

  'a settled hold has its entry, and no other hold has one': `
    select * from (
      select hold.id || ' ' || hold.account as subject, entry.amount as expected, hold.settled as found
      from hold left join entry on entry.hold = hold.id and entry.kind = 'usage' where hold.kind <> 'node'
    ) as compared where coalesce(expected, -1) <> coalesce(found, -1)`,

  'the rows of a hold end alike': `
    select id as subject, min(state) as expected, max(state) as found from hold
    where kind <> 'node' group by id having min(state) <> max(state)`,

  'no entry is refunded by more than it was': `
    select ${entryIdSql('usage')} as subject, usage.amount as expected, cast(sum(refund.amount) as bigint) as found
    from entry as usage join entry as refund on refund.reverses = usage.seq
    group by usage.seq, usage.kind, usage.idempotency_key, usage.amount having sum(refund.amount) > usage.amount`,

  'every entry is between the right accounts': `
    select * from (
      select ${entryIdSql()} as subject, debit || ' to ' || credit as found, case kind
        when 'deposit' then case when debit = 'funding' and credit in (select id from account) then 'ok' end
        when 'usage' then case when debit in (select id from account) and credit = 'revenue' then 'ok' end
        when 'refund' then case when debit = 'revenue' and credit in (select id from account) then 'ok' end
        when 'suspense' then case when debit = 'suspense' and credit = 'revenue' then 'ok' end
        when 'adjust' then case
          when debit = 'funding' and credit in (select id from account) then 'ok'
          when credit = 'funding' and debit in (select id from account) then 'ok' end
      end as verdict, kind as expected from entry
    ) as judged where verdict is null`,

  'every posting names a chain that includes the paying account': `
    select ${entryIdSql()} as subject, case kind when 'usage' then debit else credit end as expected, chain as found
    from entry where kind in ('usage', 'refund') and not exists (
      select 1 from chain where chain.id = entry.chain
      and chain.account = case entry.kind when 'usage' then entry.debit else entry.credit end)`,

  'customers\' accounts and the gateway\'s own add up to zero': `
    select * from (
      select 'all accounts' as subject, 0 as expected, cast(coalesce(sum(
        case when credit in (select id from account) then amount else 0 end
        - case when debit in (select id from account) then amount else 0 end
        + case when credit in ('funding', 'revenue', 'suspense') then amount else 0 end
        - case when debit in ('funding', 'revenue', 'suspense') then amount else 0 end), 0) as bigint) as found
      from entry
    ) as summed where found <> expected`
}
