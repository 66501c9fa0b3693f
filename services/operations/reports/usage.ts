import { GatewayError } from '../../shared/errors.ts'
import { entriesOfPeriod, isAtMost } from '../../billing/ledger/sql/entry-blocks.ts'
import { budgetPrefix } from '../../billing/ledger/accounts.ts'
import type { Store, Value } from '../../store/store.ts'
import { whereClause } from '../../store/where-clause.ts'
import { dimensionOf, tagValue, type Dimension, type UsageDimension } from './dimensions.ts'
import { utcDayMs, factKeys, factsOf, factSums, sumOf, type FactSum } from './usage-facts.ts'

export interface UsageFilter {
  /** Includes the accounts below it. */
  account?: string | undefined
  key?: string | undefined
  label?: string | undefined
  model?: string | undefined
  provider?: string | undefined
  estimated?: boolean | undefined
  tag?: { name: string, value: string } | undefined
}

export interface UsageSelection extends UsageFilter {
  /** The dimensions to group and order by; none returns one row, the total. */
  by: readonly UsageDimension[]
  /** Milliseconds since 1970; `from` is included, `to` is not. */
  from: number
  to: number
  /** By `account`: also counts each request for the accounts above the payer. */
  children?: boolean | undefined
  /** 1 to 10,000; default 1,000. */
  limit?: number | undefined
  /** Continues after a row, given by its cursor. */
  after?: readonly (string | number)[] | undefined
}

/** Usage less refunds, which count on the day on which they were made. Amounts are integer nano-USD. */
export interface UsageTotals {
  /** The values of `by`, as text. */
  groups: readonly string[]
  cursor: readonly (string | number)[]
  requests: number
  /** Requests that were charged by an estimate. */
  estimated: number
  promptTokens: number
  completionTokens: number
  cachedTokens: number
  reasoningTokens: number
  images: number
  /** Seconds of video. */
  seconds: number
  /** Charges less refunds; may be negative. */
  amountNano: number
  /** Requests with a provider cost: their number, cost and charges. */
  costedRequests: number
  costNano: number
  costedAmountNano: number
  /** How much more the best model of the pool would have cost, for requests to `auto`. */
  savedNano: number
}

const defaultLimit = 1_000
const maxLimit = 10_000
/** Rows per batch of long reports, to keep the event loop responsive. */
const rowsAtOnce = 1_000

/**
 * Sums usage: whole days from the roll-up, the rest from the entries, in one statement and thus one snapshot.
 * Throws GatewayError 400 for a wrong query, StoreUnavailable.
 */
export async function sumUsage (
  { reports, engine }: Pick<Store, 'reports' | 'engine'>, selection: UsageSelection
): Promise<UsageTotals[]> {
  const { by, limit = defaultLimit, after, children = false } = selection
  refuseWrongSelection(selection, limit)
  const dimensions = by.map(name => dimensionOf(engine, name))
  const params: Value[] = []
  const used = partsOf(engine, selection, params)
  const groups = dimensions.map(({ sql }, index) => children && by[index] === 'account' ? 'member.account' : sql)
  const columns = groups.map((sql, index) => `${sql} as group_${index}, `)
  const conditions = [...children ? [memberCondition(engine, selection, params)] : []]
  if (after !== undefined) conditions.push(`(${groups.join(', ')}) > (${after.map(value => `$${params.push(value)}`).join(', ')})`)
  const order = groups.length === 0 ? '' : `group by ${groups.join(', ')} order by ${groups.join(', ')}`
  const rows = await reports.all<SummedRow>(`
    select ${columns.join('')} ${sumsOf(engine)} from (${used}) as used
    ${by.includes('label') ? 'left join api_key as key_of_usage on key_of_usage.id = used.api_key' : ''}
    ${children ? 'join chain as member on member.id = used.chain' : ''}
    ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`} ${order} limit $${params.push(limit)}`, params)
  return rows.map(row => toTotals(row, dimensions))
}

/** Yields all rows of a report, in batches that do not hold up the event loop. Throws as `sumUsage` does. */
export async function * usageBatches (
  store: Pick<Store, 'reports' | 'engine'>, selection: Omit<UsageSelection, 'limit' | 'after'>
): AsyncGenerator<UsageTotals[], void, undefined> {
  for (let after: UsageTotals['cursor'] | undefined; ;) {
    const rows = await sumUsage(store, { ...selection, limit: rowsAtOnce, after })
    yield rows
    if (rows.length < rowsAtOnce || selection.by.length === 0) return
    after = rows.at(-1)?.cursor
  }
}

/** Returns the query of the rows to sum up: of `usage_day` for whole days, and of entries for the rest. */
function partsOf (engine: Store['engine'], selection: UsageSelection, params: Value[]): string {
  const { from, to } = selection
  const [first, last] = [Math.ceil(from / utcDayMs), Math.floor(to / utcDayMs)]
  const place = (value: Value) => `$${params.push(value)}`
  const within = (from: string, to: string) => `entry.at >= ${from} and entry.at < ${to}`
  const rolledUp = '(select seq from usage_progress)'
  const parts: string[] = []
  const edges = first > last
    ? [[from, to] as const]
    : [[from, first * utcDayMs] as const, [last * utcDayMs, to] as const].filter(([from, to]) => from < to)
  for (const [from, to] of edges) {
    const [start, end] = [place(from), place(to)]
    parts.push(factsOf(engine, entriesOfPeriod(engine, start, end), `${within(start, end)} and ${isAtMost(rolledUp)}`))
  }
  if (first < last) {
    const days = `used.day >= ${place(first)} and used.day < ${place(last)}`
    parts.push(`select ${[...factKeys, ...factSums].join(', ')} from usage_day as used where ${days}`)
  }
  // With two bounds, Postgres expects a small range and uses the index.
  const tail = `entry.seq > ${rolledUp} and entry.seq <= ${rolledUp} + ${Number.MAX_SAFE_INTEGER}`
  parts.push(factsOf(engine, 'entry', `${tail} and ${within(place(from), place(to))}`))
  const filter = filterOf(engine, selection, params)
  const list = [...factKeys, ...factSums].join(', ')
  return parts.map(part => `select ${list} from (${part}) as used ${filter}`).join(' union all ')
}

function filterOf (
  engine: Store['engine'], filter: UsageFilter, params: Value[]
): string {
  const { account, key, label, model, provider, estimated, tag } = filter
  const where = whereClause([
    ['used.chain in (select id from chain where account = ?)', account],
    ['used.api_key = ?', key],
    ['used.api_key in (select id from api_key where label = ?)', label],
    ['used.model = ?', model],
    ['used.provider = ?', provider],
    ['used.estimated = ?', estimated === undefined ? undefined : Number(estimated)],
    [tag === undefined ? '' : `${tagValue(engine, tag.name)} = ?`, tag?.value]
  ], params)
  return where === '' ? '' : `where ${where}`
}

/** The paying accounts of a chain: no budgets, and none above the account of the filter. */
function memberCondition (engine: Store['engine'], { account }: UsageFilter, params: Value[]): string {
  const isAccount = `member.account not like '${budgetPrefix}%'`
  if (account === undefined) return isAccount
  const position = engine === 'sqlite' ? 'instr' : 'strpos'
  const placeOf = (id: string) => `${position}(' ' || used.chain || ' ', ' ' || ${id} || ' ')`
  return `${isAccount} and ${placeOf('member.account')} <= ${placeOf(`cast($${params.push(account)} as text)`)}`
}

type SummedRow = Record<FactSum | 'estimated', number> & Record<`group_${number}`, string | number>

function sumsOf (engine: Store['engine']): string {
  const sums = factSums.map(name => `${sumOf(engine, name)} as ${name}`)
  return [...sums, 'cast(coalesce(sum(used.estimated * used.requests), 0) as bigint) as estimated'].join(', ')
}

function toTotals (row: SummedRow, dimensions: readonly Dimension[]): UsageTotals {
  const cursor = dimensions.map((_, index) => row[`group_${index}`] ?? '')
  return {
    groups: dimensions.map(({ toText }, index) => toText(cursor[index] ?? '')),
    cursor,
    requests: row.requests,
    estimated: row.estimated,
    promptTokens: row.prompt,
    completionTokens: row.completion,
    cachedTokens: row.cached,
    reasoningTokens: row.reasoning,
    images: row.images,
    seconds: row.milliseconds / 1_000,
    amountNano: row.amount,
    costedRequests: row.costed_requests,
    costNano: row.cost,
    costedAmountNano: row.costed_amount,
    savedNano: row.saved
  }
}

function refuseWrongSelection ({ by, from, to, after }: UsageSelection, limit: number): void {
  if (!Number.isSafeInteger(from) || from < 0) throw GatewayError.invalidValue('from', 'must not be before 1970')
  if (!Number.isSafeInteger(to) || to < from) throw GatewayError.invalidValue('to', 'must not be before \'from\'')
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw GatewayError.invalidValue('limit', `must be an integer from 1 to ${maxLimit}`)
  }
  if (after === undefined || (by.length > 0 && after.length === by.length)) return
  throw GatewayError.invalidValue('after', 'must be the \'next\' of a page of this list')
}
