import { usageDimensions, type UsageRow } from '../../schemas/admin/usage.ts'
import { sumUsage, type UsageDimension, type UsageTotals as BilledUsage } from '../reports/usage.ts'
import type { Column } from './format/columns.ts'
import { toCsv } from './format/csv.ts'
import type { Administration } from './administration.ts'
import { amountFields, amountText } from './amounts.ts'
import { allPages, readPage, type Page, type PageRequest, type TimeRange } from './page.ts'

export interface UsageFilter extends TimeRange {
  by: readonly UsageDimension[]
  account?: string | undefined
  key?: string | undefined
  model?: string | undefined
}

/** Parses dimensions such as `key,day`; default: all. Throws RangeError. */
export function toDimensions (text: string = usageDimensions.join(',')): UsageDimension[] {
  const names = text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !usageDimensions.some((dimension) => dimension === name))
  if (unknown === undefined) return usageDimensions.filter((dimension) => names.includes(dimension))
  throw new RangeError(`expected one or more of ${usageDimensions.join(', ')}, got '${unknown.slice(0, 80)}'`)
}

/** Reports charges minus refunds. Throws GatewayError 400 for a wrong page or time, StoreUnavailable. */
export async function listUsage (
  { store, flush }: Administration, { limit, after, ...filter }: UsageFilter & PageRequest
): Promise<Page<UsageRow>> {
  const { by, from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  await flush()
  return await readPage({ limit, after }, {
    example: by.map(() => ''),
    read: (after, limit) => sumUsage(store, { ...filter, from, to, limit, after }),
    toItem: toUsageRow,
    cursorOf: row => by.map(dimension => row[dimension] ?? '')
  })
}

/** Reports all usage as CSV. */
export function usageCsv (
  administration: Administration, filter: UsageFilter
): AsyncGenerator<string, void, undefined> {
  const pages = allPages(async (page) => await listUsage(administration, { ...filter, ...page }))
  return toCsv(usageColumns(filter.by), pages)
}

/** Returns the columns of usage grouped by some dimensions. */
export function usageColumns (by: readonly UsageDimension[]): Column<UsageRow>[] {
  return [
    ...by.map((dimension) => ({ name: dimension, cell: (row: UsageRow) => row[dimension] ?? '' })),
    { name: 'requests', numeric: true, cell: (row) => String(row.requests) },
    { name: 'estimated_requests', numeric: true, cell: (row) => String(row.estimated_requests) },
    { name: 'prompt_tokens', numeric: true, cell: (row) => String(row.prompt_tokens) },
    { name: 'completion_tokens', numeric: true, cell: (row) => String(row.completion_tokens) },
    { name: 'cost_usd', numeric: true, cell: (row) => amountText(row.cost_nano) }
  ]
}

function toUsageRow (billed: BilledUsage): UsageRow {
  const { promptTokens, completionTokens, amountNano, estimated, ...row } = billed
  return {
    object: 'usage',
    ...row,
    estimated_requests: estimated,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    ...amountFields('cost', amountNano)
  }
}
