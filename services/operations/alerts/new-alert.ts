import { randomUUID } from 'node:crypto'
import { isoTime } from '../../shared/iso-time.ts'
import type { Queries } from '../../store/store.ts'

/** A message to be sent, once for each source, period and threshold. */
export interface NewAlert {
  source: string
  /** For a budget, includes its limit: a raised budget reaches its thresholds again. */
  period: string
  /** Percent of a budget; 0 for a low balance. */
  threshold: number
  type: 'budget.threshold_reached' | 'balance.low'
  data: object
}

/** Adds a message; false if there already is one for the same event. Throws StoreUnavailable. */
export async function insertAlert (
  queries: Pick<Queries, 'run'>, { source, period, threshold, type, data }: NewAlert, at: number
): Promise<boolean> {
  const body = JSON.stringify({ type, timestamp: isoTime(at), data })
  const inserted = await queries.run(`
    insert into alert (id, source, period, threshold, created_at, type, body, next_attempt_at)
    values ($1, $2, $3, $4, $5, $6, $7, now_ms()) on conflict do nothing`,
  [`msg_${randomUUID().replaceAll('-', '')}`, source, period, threshold, at, type, body])
  return inserted === 1
}
