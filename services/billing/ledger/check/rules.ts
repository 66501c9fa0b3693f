import { entryIdSql } from '../entry-id.ts'
import type { RuleName } from './explanations.ts'

/** A rule of the books that is broken. */
export interface Violation {
  rule: RuleName
  /** Id of the account, entry or hold. */
  subject: string
  /** Money in integer nano-USD. */
  expected: number | string | null
  found: number | string | null
}

/** A rule, and the statement that lists what breaks it. */
export interface Rule { rule: RuleName, sql: string }

/** The entries after `$1` up to `$2`, by their numbers. */
export const inSlice = 'entry.seq > $1 and entry.seq <= $2'

/** The rules for the entries of a slice. */
export const entryRules: readonly Rule[] = [
  {
    rule: 'a hold has at most one usage entry',
    sql: `
      select hold as subject, 1 as expected, cast(count(*) as bigint) as found from entry
      where kind = 'usage' and hold in (
        select hold from entry where ${inSlice} and kind = 'usage' and hold is not null
      ) group by hold having count(*) > 1`
  },
  {
    rule: 'no entry is refunded by more than it was',
    sql: `
      select ${entryIdSql('usage')} as subject, usage.amount as expected, cast(sum(refund.amount) as bigint) as found
      from entry as usage join entry as refund on refund.reverses = usage.seq
      where usage.seq in (select reverses from entry where ${inSlice} and reverses is not null)
      group by usage.seq, usage.kind, usage.idempotency_key, usage.amount having sum(refund.amount) > usage.amount`
  },
  {
    rule: 'an entry in suspense is closed in full',
    sql: `
      select ${entryIdSql('closing')} as subject, suspended.amount as expected, closing.amount as found
      from entry as closing left join entry as suspended
        on suspended.seq = closing.reverses and suspended.kind = 'suspense' and suspended.debit = 'suspense'
      where closing.seq > $1 and closing.seq <= $2 and closing.reverses is not null and closing.credit = 'suspense'
      and (suspended.seq is null or suspended.amount <> closing.amount)`
  },
  {
    rule: 'every entry is between the right accounts',
    sql: `
      select * from (
        select ${entryIdSql()} as subject, debit || ' to ' || credit as found, case kind
          when 'deposit' then case when debit = 'funding' and credit in (select id from account) then 'ok' end
          when 'usage' then case when debit in (select id from account)
            and credit = case when reverses is null then 'revenue' else 'suspense' end then 'ok' end
          when 'refund' then case when debit = 'revenue' and credit in (select id from account) then 'ok' end
          when 'withdraw' then case when debit in (select id from account) and credit = 'funding' then 'ok' end
          when 'transfer' then case when debit in (select id from account) and credit in (select id from account)
            and debit <> credit then 'ok' end
          when 'suspense' then case
            when debit = 'suspense' and credit = 'revenue' and reverses is null then 'ok'
            when debit = 'revenue' and credit = 'suspense' and reverses is not null then 'ok' end
          when 'adjust' then case
            when debit = 'funding' and credit in (select id from account) then 'ok'
            when credit = 'funding' and debit in (select id from account) then 'ok' end
        end as verdict, kind as expected from entry where ${inSlice}
      ) as judged where verdict is null`
  },
  {
    rule: 'a movement is what its entry says',
    sql: `
      select * from (
        select coalesce(${entryIdSql()}, 'entry_' || movement.entry) as subject, movement.amount as found, case
          when kind = 'deposit' or (kind = 'adjust' and debit = 'funding') then entry.amount
          when kind = 'withdraw' or (kind = 'adjust' and credit = 'funding') then -entry.amount
          when (kind = 'transfer' or kind = 'refund') and movement.amount < 0 then -entry.amount
          when kind = 'transfer' or kind = 'refund' then entry.amount
        end as expected
        from movement left join entry on entry.seq = movement.entry
        where movement.entry > $1 and movement.entry <= $2
      ) as compared where expected is null or found <> expected`
  },
  {
    rule: 'an entry that changes credits has its movement',
    sql: `
      select ${entryIdSql()} as subject, amount as expected, null as found from entry
      where ${inSlice} and kind in ('deposit', 'withdraw', 'adjust', 'transfer') and not exists (
        select 1 from movement where movement.entry = entry.seq and (
          kind = 'transfer' or movement.account = case debit when 'funding' then credit else debit end))`
  },
  {
    rule: 'every posting names a chain that includes the paying account',
    sql: `
      select ${entryIdSql()} as subject, case kind when 'usage' then debit else credit end as expected, chain as found
      from entry where ${inSlice} and kind in ('usage', 'refund') and not exists (
        select 1 from chain where chain.id = entry.chain
        and chain.account = case entry.kind when 'usage' then entry.debit else entry.credit end)`
  },
  {
    rule: 'customers\' accounts and the gateway\'s own add up to zero',
    sql: `
      select * from (
        select 'all accounts' as subject, 0 as expected, cast(coalesce(sum(
          case when credit in (select id from account) then amount else 0 end
          - case when debit in (select id from account) then amount else 0 end
          + case when credit in ('funding', 'revenue', 'suspense') then amount else 0 end
          - case when debit in ('funding', 'revenue', 'suspense') then amount else 0 end), 0) as bigint) as found
        from entry where ${inSlice}
      ) as summed where found <> expected`
  }
]

const isInRange = "hold.kind <> 'node' and hold.id > $1 and hold.id <= $2"

/** The rules for the durable holds after `$1` up to `$2`, by their ids. */
export const holdRules: readonly Rule[] = [
  {
    rule: 'a settled hold has its entry, and no other hold has one',
    sql: `
      select * from (
        select hold.id || ' ' || hold.account as subject, entry.amount as expected, hold.settled as found
        from hold left join entry on entry.hold = hold.id and entry.kind = 'usage'
        where ${isInRange}
      ) as compared where coalesce(expected, -1) <> coalesce(found, -1)`
  },
  {
    rule: 'the rows of a hold end alike',
    sql: `
      select id as subject, min(state) as expected, max(state) as found from hold
      where ${isInRange} group by id having min(state) <> max(state)`
  }
]
