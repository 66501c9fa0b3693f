import type { usageDimensions } from '../../schemas/admin/usage.ts'
import { GatewayError } from '../shared/errors.ts'
import { entriesOfPeriod } from '../ledger/sql/entry-blocks.ts'
import type { Store, Value } from '../store/store.ts'
import { whereClause } from '../store/where-clause.ts'

/** What usage can be grouped by; days are in UTC. */
export type UsageDimension = typeof usageDimensions[number]

export interface UsageSelection {
  /** The dimensions to group and order by, each at most once; none returns one row, the total. */
  by: readonly UsageDimension[]
  /** Milliseconds since 1970; `from` is included, `to` is not. */
  from: number
  to: number
  /** Includes the accounts below it. */
  account?: string | undefined
  key?: string | undefined
  model?: string | undefined
  /** 1 to 10,000; default 1,000. */
  limit?: number | undefined
  /** Continues after a row, given by its values of `by`. */
  after?: readonly string[] | undefined
}

/** A refund reduces the amount of the day on which it was made. */
export interface UsageTotals {
  key: string | null
  model: string | null
  day: string | null
  requests: number
  promptTokens: number
  completionTokens: number
  /** Integer nano-USD; negative where refunds outweigh. */
  amountNano: number
  /** How many of the requests were charged by an estimate. */
  estimated: number
}

/** Sums up the charges in the ledger's table. Throws GatewayError 400 for a wrong query, StoreUnavailable. */
export async function sumUsage (
  store: Pick<Store, 'all' | 'engine'>, selection: UsageSelection
): Promise<UsageTotals[]> {
  const { by, limit = defaultLimit } = selection
  refuseWrongSelection(selection, limit)
  const { where, params } = conditionsOf(selection)
  const groups = by.map((dimension) => expressions[dimension])
  const columns = by.map((dimension, index) => `${groups[index]} as "${dimension}", `)
  const grouping = by.length === 0 ? '' : `group by ${groups.join(', ')} order by ${groups.join(', ')}`
  const rows = await store.all<SelectedRow>(`
    select ${columns.join('')} ${sums[store.engine]} from ${entriesOfPeriod(store.engine)}
    where ${where} ${grouping} limit $${params.push(limit)}`, params)
  return rows.map(({ key = null, model = null, day = null, ...row }) =>
    ({ key, model, day: day === null ? null : dateOf(day), ...row }))
}

type SelectedRow = Omit<UsageTotals, UsageDimension> & { key?: string, model?: string, day?: number }

const defaultLimit = 1_000
const maxLimit = 10_000
const dayMs = 86_400_000

const keyExpression = 'coalesce(entry.api_key, \'\')'

const expressions: Record<UsageDimension, string> = {
  key: keyExpression,
  model: 'coalesce(entry.model, \'\')',
  day: `entry.at / ${dayMs}`
}

// Postgres stores the token counts in columns.
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

function conditionsOf ({ by, from, to, account, key, model, after }: UsageSelection) {
  // `entriesOfPeriod` expects these two as the first parameters.
  const params: Value[] = [from, to]
  const conditions = ["entry.kind in ('usage', 'refund') and entry.at >= $1 and entry.at < $2"]
  const filters = whereClause([
    ['entry.chain in (select id from chain where account = ?)', account],
    [`${keyExpression} = ?`, key],
    ['entry.model = ?', model]
  ], params)
  if (filters !== '') conditions.push(filters)
  if (after !== undefined) {
    const cursor = after.map((value, index) => `$${params.push(by[index] === 'day' ? dayOf(value) : value)}`)
    const groups = by.map((dimension) => expressions[dimension])
    conditions.push(`(${groups.join(', ')}) > (${cursor.join(', ')})`)
  }
  return { where: conditions.join(' and '), params }
}

function refuseWrongSelection ({ by, from, to, after }: UsageSelection, limit: number): void {
  if (new Set(by).size < by.length || !by.every((dimension) => Object.hasOwn(expressions, dimension))) {
    throw GatewayError.invalidValue('by', 'must be key, model or day, or several of them, each at most once')
  }
  if (!Number.isSafeInteger(from) || from < 0) throw GatewayError.invalidValue('from', 'must not be before 1970')
  if (!Number.isSafeInteger(to) || to < from) throw GatewayError.invalidValue('to', 'must not be before \'from\'')
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw GatewayError.invalidValue('limit', `must be an integer from 1 to ${maxLimit}`)
  }
  const isCursor = after === undefined || (by.length > 0 && after.length === by.length &&
    after.every((value, index) => by[index] !== 'day' || Number.isSafeInteger(dayOf(value))))
  if (!isCursor) throw GatewayError.invalidValue('after', 'must be the \'next\' of a page of this list')
}

function dateOf (day: number): string {
  return new Date(day * dayMs).toISOString().slice(0, 10)
}

function dayOf (date: string): number {
  return Date.parse(date) / dayMs
}
