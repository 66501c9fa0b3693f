import { GatewayError } from '../shared/errors.ts'
import { entriesOfPeriod } from '../ledger/sql/entry-blocks.ts'
import type { Store, Value } from '../store/store.ts'

/** What usage can be told apart by; days are those of UTC. */
export type UsageDimension = 'key' | 'model' | 'day'

export interface UsageQuery {
  /** None, or each at most once; rows are ordered by them in this order. None gives one row, the sum. */
  by: readonly UsageDimension[]
  /** Milliseconds since 1970; `from` is included, `to` is not. */
  from: number
  to: number
  /** What counts for this account: its own requests and those of the accounts it is a parent of. */
  account?: string | undefined
  key?: string | undefined
  model?: string | undefined
  /** 1 to 10,000; 1,000 unless told. */
  limit?: number | undefined
  /** Continues behind a row: its values of `by`, see `placeOf`. */
  after?: readonly string[] | undefined
}

/**
 * What was charged under one combination of `by`; a dimension that was not asked for is null. Refunds are
 * taken off the amount of the day they were made, requests that cost nothing are not in the books.
 */
export interface UsageRow {
  key: string | null
  model: string | null
  /** As `2026-11-21`. */
  day: string | null
  requests: number
  promptTokens: number
  completionTokens: number
  /** Integer nano-USD; below zero where refunds outweigh. */
  amountNano: number
  /** How many of the requests were charged by an estimate. */
  estimated: number
}

/**
 * Sums up what was charged, out of the entries that are on disk. Throws GatewayError 400 for a query that
 * makes no sense, StoreUnavailable.
 */
export async function usage (store: Pick<Store, 'all' | 'engine'>, query: UsageQuery): Promise<UsageRow[]> {
  const { by, limit = defaultLimit } = query
  refuseWrongQuery(query, limit)
  const { where, params } = conditionsOf(query)
  const groups = by.map((dimension) => expressions[dimension])
  const columns = by.map((dimension, index) => `${groups[index]} as "${dimension}", `)
  const grouping = by.length === 0 ? '' : `group by ${groups.join(', ')} order by ${groups.join(', ')}`
  const rows = await store.all<SelectedRow>(
    `select ${columns.join('')} ${sums[store.engine]} from ${entriesOfPeriod(store.engine)} where ${where} ${grouping} limit $${params.push(limit)}`, params)
  return rows.map(({ key = null, model = null, day = null, ...row }) =>
    ({ key, model, day: day === null ? null : dateOf(day), ...row }))
}

/** The place of a row in a list, for `after`. */
export function placeOf (row: UsageRow, by: readonly UsageDimension[]): string[] {
  return by.map((dimension) => row[dimension] ?? '')
}

type SelectedRow = Omit<UsageRow, UsageDimension> & { key?: string, model?: string, day?: number }

const defaultLimit = 1_000
const maxLimit = 10_000
const dayMs = 86_400_000

const keyOf = 'coalesce(entry.api_key, \'\')'

const expressions: Record<UsageDimension, string> = {
  key: keyOf,
  model: 'coalesce(entry.model, \'\')',
  day: `entry.at / ${dayMs}`
}

// Postgres keeps the counts of tokens in columns.
const sums: Record<Store['engine'], string> = {
  sqlite: sumsOf("cast(entry.usage ->> 'prompt' as integer)", "cast(entry.usage ->> 'completion' as integer)"),
  postgres: sumsOf('entry.prompt_tokens', 'entry.completion_tokens')
}

function sumsOf (promptTokens: string, completionTokens: string): string {
  return `
    ${sumOf('1')} as requests, ${sumOf(promptTokens)} as "promptTokens",
    ${sumOf(completionTokens)} as "completionTokens", ${sumOf('entry.estimated')} as estimated,
    ${sumOf('entry.amount', '-entry.amount')} as "amountNano"`
}

function sumOf (ofUsage: string, ofRefund = '0'): string {
  const value = `case entry.kind when 'usage' then ${ofUsage} else ${ofRefund} end`
  return `cast(coalesce(sum(${value}), 0) as bigint)`
}

function conditionsOf ({ by, from, to, account, key, model, after }: UsageQuery) {
  const params: Value[] = [from, to]
  const conditions = ["entry.kind in ('usage', 'refund') and entry.at >= $1 and entry.at < $2"]
  if (account !== undefined) {
    conditions.push(`entry.chain in (select id from chain where account = $${params.push(account)})`)
  }
  if (key !== undefined) conditions.push(`${keyOf} = $${params.push(key)}`)
  if (model !== undefined) conditions.push(`entry.model = $${params.push(model)}`)
  if (after !== undefined) {
    const places = after.map((value, index) => `$${params.push(by[index] === 'day' ? dayOf(value) : value)}`)
    const groups = by.map((dimension) => expressions[dimension])
    conditions.push(`(${groups.join(', ')}) > (${places.join(', ')})`)
  }
  return { where: conditions.join(' and '), params }
}

function refuseWrongQuery ({ by, from, to, after }: UsageQuery, limit: number): void {
  if (new Set(by).size < by.length || !by.every((dimension) => Object.hasOwn(expressions, dimension))) {
    refuse('by', 'Usage is told apart by key, model and day, each at most once.')
  }
  if (!Number.isSafeInteger(from) || from < 0) refuse('from', 'The beginning is an integer in milliseconds.')
  if (!Number.isSafeInteger(to) || to < from) refuse('to', 'The end is such an integer too, not before the beginning.')
  const isCount = Number.isInteger(limit) && limit >= 1 && limit <= maxLimit
  if (!isCount) refuse('limit', `From 1 to ${maxLimit} rows can be asked for.`)
  const isPlace = after === undefined || (by.length > 0 && after.length === by.length &&
    after.every((value, index) => by[index] !== 'day' || Number.isSafeInteger(dayOf(value))))
  if (!isPlace) refuse('after', 'This is no place in the list that is asked for.')
}

function refuse (param: string, message: string): never {
  throw GatewayError.invalidRequest(message, { param, code: 'invalid_value' })
}

/** Days are counted from the first of 1970. */
function dateOf (day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

function dayOf (date: string): number {
  return Date.parse(date) / dayMs
}
