import { GatewayError } from '../shared/errors.ts'
import { readIsoTime } from '../shared/iso-time.ts'
import type { Store } from '../store/store.ts'
import { sumUsage, type UsageSelection, type UsageTotals } from './usage.ts'

/** The costs of one day, in total and by model, in integer nano-USD. */
export interface DayCosts {
  /** Midnight UTC, in milliseconds. */
  startsAt: number
  amountNano: number
  models: { model: string, amountNano: number }[]
}

const dayMs = 86_400_000
const maxRows = 10_000

/** Throws GatewayError 400 for more than 10,000 rows, StoreUnavailable. */
export async function dailyCosts (
  store: Pick<Store, 'all' | 'engine'>,
  { from, to, account, key }: Pick<UsageSelection, 'from' | 'to' | 'account' | 'key'>
): Promise<DayCosts[]> {
  const rows = await sumUsage(store, { by: ['day', 'model'], from, to, account, key, limit: maxRows })
  if (rows.length === maxRows) {
    throw GatewayError.invalidRequest('The report is too large; request fewer days.', { param: 'start_date' })
  }
  const byDay = Map.groupBy(rows, ({ day }) => Date.parse(day ?? ''))
  const days = Array.from({ length: (to - from) / dayMs }, (_, index) => from + index * dayMs)
  return days.map((startsAt) => costsOf(startsAt, byDay.get(startsAt) ?? []))
}

function costsOf (startsAt: number, rows: readonly UsageTotals[]): DayCosts {
  return {
    startsAt,
    amountNano: rows.reduce((sum, { amountNano }) => sum + amountNano, 0),
    models: rows.map(({ model, amountNano }) => ({ model: model ?? '', amountNano }))
  }
}

/** Dates such as `2026-11-21`, in UTC. */
export interface GivenDates { start_date?: string | undefined, end_date?: string | undefined }

const maxDays = 100

/** Parses a range of midnights, by default the last 100 days, without `end_date`. Throws GatewayError 400. */
export function readDateRange ({ start_date: start, end_date: end }: GivenDates, now: number) {
  const to = end === undefined ? Math.floor(now / dayMs + 1) * dayMs : readDate('end_date', end)
  const from = start === undefined ? Math.max(0, to - maxDays * dayMs) : readDate('start_date', start)
  if (from >= to) refuse('end_date', 'must be after \'start_date\'')
  if (to - from > maxDays * dayMs) refuse('start_date', `the range must have at most ${maxDays} days`)
  return { from, to }
}

function readDate (param: string, text: string): number {
  const expected = 'must be a date such as 2026-11-21, from 1970 on'
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) refuse(param, expected)
  try {
    const at = readIsoTime(text)
    return at >= 0 ? at : refuse(param, expected)
  } catch (error) {
    if (error instanceof RangeError) refuse(param, expected)
    throw error
  }
}

function refuse (param: string, why: string): never {
  throw GatewayError.invalidValue(param, why)
}
