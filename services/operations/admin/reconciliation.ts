import { reconciliationDimensions, type ReconciliationRow } from '../../../schemas/admin/reconciliation.ts'
import { dimensionOf } from '../reports/dimensions.ts'
import { sumUsage, type UsageFilter, type UsageTotals } from '../reports/usage.ts'
import { isCostMismatch } from '../../shared/cost-mismatch.ts'
import type { Administration } from './administration.ts'
import { amountFields, amountText } from './amounts.ts'
import type { Column } from './format/columns.ts'
import { toCsv } from './format/csv.ts'
import { readPage, type Page, type PageRequest, type TimeRange } from './page.ts'
import { readAllUsage, withTimes } from './usage.ts'

type Dimension = typeof reconciliationDimensions[number]

export interface Reconciliation extends TimeRange, Pick<UsageFilter, 'account' | 'model' | 'provider'> {
  by: readonly Dimension[]
  /** The share by which costs may differ. */
  tolerance: number
}

const defaultDimensions = 'model,provider,day'

/** Parses dimensions such as `provider,day`; default: model, provider and day. Throws RangeError. */
export function toReconciliationDimensions (text: string = defaultDimensions): Dimension[] {
  const names = text.split(',').map(name => name.trim())
  const unknown = names.find(name => !reconciliationDimensions.some(dimension => dimension === name))
  if (unknown === undefined) return reconciliationDimensions.filter(dimension => names.includes(dimension))
  throw new RangeError(`expected one or more of ${reconciliationDimensions.join(', ')}, got '${unknown.slice(0, 80)}'`)
}

/** Compares what providers reported with what was expected. Throws GatewayError 400, StoreUnavailable. */
export async function listReconciliation (
  { store, flush }: Administration, { limit, after, ...report }: Reconciliation & PageRequest
): Promise<Page<ReconciliationRow>> {
  await flush()
  return await readPage({ limit, after }, {
    example: report.by.map(name => dimensionOf(store.engine, name).example),
    read: (after, limit) => sumUsage(store, { ...withTimes(report), isReported: true, limit, after }),
    toItem: totals => toRow(totals, report),
    cursorOf: ({ cursor }) => cursor
  })
}

/** Reports all of it as CSV. */
export async function * reconciliationCsv (
  { store, flush }: Administration, report: Reconciliation
): AsyncGenerator<string, void, undefined> {
  await flush()
  const rows = readAllUsage(store, { ...report, isReported: true }, totals => toRow(totals, report))
  yield * toCsv(reconciliationColumns(report.by), rows)
}

/** Returns the columns of costs compared by some dimensions. */
export function reconciliationColumns (by: readonly Dimension[]): Column<ReconciliationRow>[] {
  return [
    ...by.map(name => ({ name, cell: (row: ReconciliationRow) => row[name] ?? '' })),
    { name: 'reported_requests', numeric: true, cell: row => String(row.reported_requests) },
    { name: 'reported_cost_usd', numeric: true, cell: row => amountText(row.reported_cost_nano) },
    { name: 'expected_cost_usd', numeric: true, cell: row => amountText(row.expected_cost_nano) },
    { name: 'difference_usd', numeric: true, cell: row => amountText(row.difference_nano) },
    { name: 'differs', cell: row => row.differs ? 'yes' : 'no' }
  ]
}

const noGroups = { account: null, model: null, provider: null, day: null, week: null, month: null }

function toRow (totals: UsageTotals, { by, tolerance }: Reconciliation): ReconciliationRow {
  const { groups, reportedRequests, reportedNano, expectedNano } = totals
  return {
    object: 'reconciliation',
    ...noGroups,
    ...Object.fromEntries(by.map((name, index) => [name, groups[index] ?? ''])),
    reported_requests: reportedRequests,
    ...amountFields('reported_cost', reportedNano),
    ...amountFields('expected_cost', expectedNano),
    ...amountFields('difference', reportedNano - expectedNano),
    differs: isCostMismatch({ expectedNano, reportedNano }, tolerance, reportedRequests)
  }
}
