import { createJsonIds } from '../../../store/json-rows.ts'
import type { Store, Value } from '../../../store/store.ts'
import { dailyViolations } from '../check/daily-sums.ts'
import type { Violation } from '../check/rules.ts'
import { entriesAfter, entriesOfPeriod, isAtMost } from '../sql/entry-blocks.ts'
import { rollUpEntries } from '../sql/roll-up.ts'
import { noSums, type SumsByAccount, type SumsOfAccounts } from './sums.ts'

type Engine = Store['engine']

const dayMs = 86_400_000
/** Entries per transaction: on SQLite, they block the process for some milliseconds. */
const usualChunks: Record<Engine, number> = { sqlite: 2_000, postgres: 10_000 }

/** Adds entries to `chain_day`, as `rollUpEntries` does; returns how many. Throws StoreUnavailable. */
export async function rollUpChains (
  store: Store, { signal, chunk = usualChunks[store.engine] }: { signal?: AbortSignal, chunk?: number } = {}
): Promise<number> {
  return await rollUpEntries(store, {
    progress: 'chain_progress',
    chunk,
    prepare: async (from, to) => async queries => await queries.run(addEntries, [from, to])
  }, signal)
}

const isPosted = "entry.kind in ('usage', 'refund') and entry.chain is not null"
const usage = "case entry.kind when 'usage' then entry.amount else 0 end"
const refunds = "case entry.kind when 'refund' then entry.amount else 0 end"
const sumOf = (amount: string) => `cast(sum(${amount}) as bigint)`

const addEntries = `
  insert into chain_day (chain, day, usage, refunds)
  select chain, at / ${dayMs}, ${sumOf(usage)}, ${sumOf(refunds)} from entry
  where seq > $1 and seq <= $2 and ${isPosted} group by 1, 2
  on conflict (chain, day) do update
  set usage = chain_day.usage + excluded.usage, refunds = chain_day.refunds + excluded.refunds`

/** Compares `chain_day` with the entries. Throws as `dailyViolations` does. */
export async function * chainDayViolations (
  store: Pick<Store, 'engine' | 'reports'>, signal?: AbortSignal
): AsyncGenerator<Violation> {
  yield * dailyViolations(store, {
    rule: 'spend by day is the sum of its entries',
    table: 'chain_day',
    progress: 'chain_progress',
    keys: ['chain', 'day'],
    named: ['chain'],
    sums: ['usage', 'refunds'],
    facts: (_engine, entries, condition) => `
      select chain, at / ${dayMs} as day, ${usage} as usage, ${refunds} as refunds
      from ${entries} where ${isPosted} and (${condition})`,
    sumOf: (_engine, sum) => sumOf(sum)
  }, signal)
}

/**
 * Sums up usage and refunds in one statement, and so on one snapshot: whole days from `chain_day`, the rest
 * from the entries. Throws StoreUnavailable.
 */
export async function sumChainDays (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>, { accounts, ...range }: SumsOfAccounts
): Promise<SumsByAccount> {
  const given = createJsonIds(engine)
  const params: Value[] = [given.parameter(accounts)]
  const ofAccounts = `account in (select id from ${given.sql} as given)`
  const ofChains = `chain in (select id from chain where ${ofAccounts})`
  const rows = await reports.all<{ account: string, usage: number, refunds: number }>(`
    select chain.account, ${sumOf('posted.usage')} as usage, ${sumOf('posted.refunds')} as refunds from (
      select chain, ${sumOf('usage')} as usage, ${sumOf('refunds')} as refunds
      from (${partsOf(engine, range, ofChains, params)}) as part group by chain
    ) as posted join chain on chain.id = posted.chain
    where chain.${ofAccounts}
    group by chain.account having sum(posted.usage) <> 0 or sum(posted.refunds) <> 0`, params)
  return new Map(rows.map(({ account, usage, refunds }) =>
    [account, { ...noSums, usage: 0 - usage, refunds }]))
}

/** Returns the query of the rows of some chains to sum up. */
function partsOf (
  engine: Engine, { until, before }: Omit<SumsOfAccounts, 'accounts'>, ofChains: string, params: Value[]
): string {
  const place = (value: Value) => `$${params.push(value)}`
  // The nearest midnight leaves the fewest entries to read.
  const days = Math.round(before / dayMs)
  const midnight = days * dayMs
  const [end, last] = [place(before), place(until)]
  const progress = '(select seq from chain_progress)'
  // Postgres takes a range of two ends for a small one, and so uses the index.
  const tail = `entry.seq > ${progress} and entry.seq <= ${progress} + ${Number.MAX_SAFE_INTEGER}`
  const entries = (sign: 1 | -1, source: string, condition: string) => `
    select chain, ${sign} * ${usage} as usage, ${sign} * ${refunds} as refunds
    from ${source} where ${isPosted} and ${condition} and ${ofChains}`
  function restOfDay (): string {
    const [from, to] = before > midnight ? [place(midnight), end] : [end, place(midnight)]
    const condition = `at >= ${from} and at < ${to} and ${isAtMost(progress)}`
    return entries(before > midnight ? 1 : -1, entriesOfPeriod(engine, from, to), condition)
  }
  const parts = [
    `select chain, usage, refunds from chain_day where day < ${place(days)} and ${ofChains}`,
    ...before === midnight ? [] : [restOfDay()],
    entries(1, 'entry', `${tail} and at < ${end}`),
    entries(-1, entriesAfter(engine, last, end), `entry.seq > ${last} and at < ${end}`)
  ]
  return parts.join(' union all ')
}
