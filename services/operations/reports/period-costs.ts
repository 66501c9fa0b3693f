import { GatewayError } from '../../shared/errors.ts'
import { readIsoTime } from '../../shared/iso-time.ts'
import { periodAt, type Period, type PeriodSpan } from '../../keys/periods.ts'
import type { Store } from '../../store/store.ts'
import type { UsageDimension } from './dimensions.ts'
import { utcDayMs } from './usage-facts.ts'
import { usageBatches, type UsageSelection, type UsageTotals } from './usage.ts'

/** The costs of one day, week or month, in total and by one dimension, in integer nano-USD. */
export interface PeriodCosts {
  /** In milliseconds; the period may begin before the range. */
  startsAt: number
  amountNano: number
  /** For requests to `auto`: the price of the pool's best model, less the charge. */
  savedNano: number
  items: { name: string, amountNano: number }[]
}

interface CostsSelection extends Pick<UsageSelection, 'from' | 'to' | 'account' | 'key'> {
  period?: Period
  by?: UsageDimension
}

const maxRows = 10_000

/** Throws GatewayError 400 for 10,000 rows or more, StoreUnavailable. */
export async function periodCosts (
  store: Pick<Store, 'reports' | 'engine'>, { period = 'day', by = 'model', ...selection }: CostsSelection
): Promise<PeriodCosts[]> {
  const rows: UsageTotals[] = []
  for await (const batch of usageBatches(store, { ...selection, by: [period, by] })) {
    rows.push(...batch)
    if (rows.length < maxRows) continue
    throw GatewayError.invalidRequest('The report is too large; request fewer days.', { param: 'start_date' })
  }
  const byName = Map.groupBy(rows, ({ groups: [name = ''] }) => name)
  return periodsOf(period, selection).map(({ name, startsAt }) => costsOf(startsAt, byName.get(name) ?? []))
}

function periodsOf (period: Period, { from, to }: Pick<UsageSelection, 'from' | 'to'>): PeriodSpan[] {
  const periods: PeriodSpan[] = []
  for (let next = periodAt(period, from); next.startsAt < to; next = periodAt(period, next.endsAt)) {
    periods.push(next)
  }
  return periods
}

function costsOf (startsAt: number, rows: readonly UsageTotals[]): PeriodCosts {
  return {
    startsAt,
    amountNano: rows.reduce((sum, { amountNano }) => sum + amountNano, 0),
    savedNano: rows.reduce((sum, { savedNano }) => sum + savedNano, 0),
    items: rows.map(({ groups: [, name = ''], amountNano }) => ({ name, amountNano }))
  }
}

/** Dates such as `2026-11-21`, in UTC. */
export interface GivenDates { start_date?: string | undefined, end_date?: string | undefined }

const maxDays = 100

/** Parses a range of midnights, by default the last 100 days, without `end_date`. Throws GatewayError 400. */
export function readDateRange ({ start_date: start, end_date: end }: GivenDates, now: number) {
  const to = end === undefined ? Math.floor(now / utcDayMs + 1) * utcDayMs : readDate('end_date', end)
  const from = start === undefined ? Math.max(0, to - maxDays * utcDayMs) : readDate('start_date', start)
  if (from >= to) refuse('end_date', 'must be after \'start_date\'')
  if (to - from > maxDays * utcDayMs) refuse('start_date', `the range must have at most ${maxDays} days`)
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
