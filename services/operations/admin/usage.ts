import type { UsageRow } from '../../../schemas/admin/usage.ts'
import { dimensionOf, parseDimensions, tagOf, type UsageDimension } from '../reports/dimensions.ts'
import { exactUsd } from '../reports/exact-json.ts'
import { sumUsage, usageBatches, type UsageFilter, type UsageTotals } from '../reports/usage.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'
import { amounts, numbers, type Column } from './format/columns.ts'
import { toCsv } from './format/csv.ts'
import { readPage, type Page, type PageRequest, type TimeRange } from './page.ts'

export interface UsageReport extends UsageFilter, TimeRange {
  by: readonly UsageDimension[]
  children?: boolean | undefined
}

const defaultDimensions = 'key,model,day'

/** Parses dimensions such as `key,day`; default: key, model and day. Throws RangeError. */
export function toDimensions (text: string = defaultDimensions): UsageDimension[] {
  return parseDimensions(text)
}

/** Reports charges minus refunds. Throws GatewayError 400 for a wrong page or time, StoreUnavailable. */
export async function listUsage (
  { store, flush }: Administration, { limit, after, ...report }: UsageReport & PageRequest
): Promise<Page<UsageRow>> {
  await flush()
  return await readPage({ limit, after }, {
    example: report.by.map(name => dimensionOf(store.engine, name).example),
    read: (after, limit) => sumUsage(store, { ...withTimes(report), limit, after }),
    toItem: totals => toUsageRow(totals, report.by),
    cursorOf: ({ cursor }) => cursor
  })
}

/** Reports all usage as CSV. */
export async function * usageCsv (
  { store, flush }: Administration, report: UsageReport
): AsyncGenerator<string, void, undefined> {
  await flush()
  yield * toCsv(usageColumns(report.by), readAllUsage(store, report, totals => toUsageRow(totals, report.by)))
}

/** Reports the usage of a client as CSV, without the operator's costs. */
export function clientUsageCsv (
  store: Administration['store'], report: UsageReport
): AsyncGenerator<string, void, undefined> {
  return toCsv(clientColumns(report.by), readAllUsage(store, report, totals => toUsageRow(totals, report.by)))
}

/** Yields all rows of a report. */
async function * readAllUsage<Row> (
  store: Administration['store'], report: UsageReport, toRow: (totals: UsageTotals) => Row
): AsyncGenerator<Row[]> {
  for await (const totals of usageBatches(store, withTimes(report))) yield totals.map(toRow)
}

/** The last whole day: the largest possible date is not the end of a day. */
const endOfTime = 100_000_000 * 86_400_000

/** Fills in the times of a report that has none. */
function withTimes<Report extends TimeRange> ({ from = 0, to = endOfTime, ...report }: Report) {
  return { ...report, from, to }
}

/** Returns the columns of usage grouped by some dimensions. */
export function usageColumns (by: readonly UsageDimension[]): Column<UsageRow>[] {
  return [
    ...clientColumns(by), ...amounts(['provider_cost', 'margin'], '_usd')
  ]
}

function clientColumns (by: readonly UsageDimension[]): Column<UsageRow>[] {
  return [
    ...by.map(name => ({ name, cell: (row: UsageRow) => groupText(row, name) })),
    ...numbers('requests', 'estimated_requests', 'prompt_tokens', 'completion_tokens', 'cached_tokens',
      'reasoning_tokens', 'images', 'seconds'),
    ...amounts(['cost', 'saved'], '_usd')
  ]
}

function groupText (row: UsageRow, name: UsageDimension): string {
  const tag = tagOf(name)
  if (tag !== null) return row.tags?.[tag] ?? ''
  const value = row[name as Exclude<UsageDimension, `tag:${string}`>]
  return value === null ? '' : String(value)
}

function toUsageRow (totals: UsageTotals, by: readonly UsageDimension[]): UsageRow {
  return {
    object: 'usage',
    ...groupFields(totals, by),
    requests: totals.requests,
    estimated_requests: totals.estimated,
    prompt_tokens: totals.promptTokens,
    completion_tokens: totals.completionTokens,
    cached_tokens: totals.cachedTokens,
    reasoning_tokens: totals.reasoningTokens,
    images: totals.images,
    seconds: totals.seconds,
    ...amountFields('cost', totals.amountNano),
    ...amountFields('saved', totals.savedNano),
    costed_requests: totals.costedRequests,
    ...marginFields(totals)
  }
}

type Groups = Pick<UsageRow, Exclude<UsageDimension, `tag:${string}`> | 'tags'>

const noGroups: Groups = {
  account: null,
  key: null,
  label: null,
  model: null,
  provider: null,
  day: null,
  week: null,
  month: null,
  estimated: null,
  tags: null
}

function groupFields ({ groups }: UsageTotals, by: readonly UsageDimension[]): Groups {
  const fields: Record<string, string | boolean> = {}
  const tags: Record<string, string> = {}
  for (const [index, name] of by.entries()) {
    const value = groups[index] ?? ''
    const tag = tagOf(name)
    if (tag !== null) tags[tag] = value
    else fields[name] = name === 'estimated' ? value === 'true' : value
  }
  return { ...noGroups, ...fields, tags: Object.keys(tags).length === 0 ? null : tags }
}

function marginFields ({ costedRequests, costNano, costedAmountNano }: UsageTotals) {
  if (costedRequests === 0) {
    return { provider_cost_usd: null, provider_cost_nano: null, margin_usd: null, margin_nano: null }
  }
  const marginNano = costedAmountNano - costNano
  return {
    provider_cost_usd: exactUsd(costNano),
    provider_cost_nano: costNano,
    margin_usd: exactUsd(marginNano),
    margin_nano: marginNano
  }
}
