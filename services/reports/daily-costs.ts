import { GatewayError } from '../shared/errors.ts'
import type { Store } from '../store/store.ts'
import { usage } from './usage.ts'
import type { UsageQuery, UsageRow } from './usage.ts'

/** What one day has cost in all and by model, in integer nano-USD. */
export interface DayCosts {
  /** The beginning of the day in UTC, in milliseconds. */
  startsAt: number
  amountNano: number
  models: { model: string, amountNano: number }[]
}

const dayMs = 86_400_000
const maxRows = 10_000

/**
 * Returns the cost of every day from `from` on and before `to`, which are midnights in UTC in milliseconds,
 * days without any included. Throws GatewayError 400 when that is too much for one answer, StoreUnavailable.
 */
export async function dailyCosts (
  store: Pick<Store, 'all' | 'engine'>,
  { from, to, account, key }: Pick<UsageQuery, 'from' | 'to' | 'account' | 'key'>
): Promise<DayCosts[]> {
  const rows = await usage(store, { by: ['day', 'model'], from, to, account, key, limit: maxRows })
  if (rows.length === maxRows) {
    throw GatewayError.invalidRequest('That is too much for one answer; ask for fewer days.', { param: 'start_date' })
  }
  const byDay = Map.groupBy(rows, ({ day }) => Date.parse(day ?? ''))
  const days = Array.from({ length: (to - from) / dayMs }, (_, index) => from + index * dayMs)
  return days.map((startsAt) => costsOf(startsAt, byDay.get(startsAt) ?? []))
}

function costsOf (startsAt: number, rows: readonly UsageRow[]): DayCosts {
  return {
    startsAt,
    amountNano: rows.reduce((sum, { amountNano }) => sum + amountNano, 0),
    models: rows.map(({ model, amountNano }) => ({ model: model ?? '', amountNano }))
  }
}
