import { GatewayError } from '../../../shared/errors.ts'
import type { Reports } from '../../../store/store.ts'

/** A month in UTC, from `startsAt` up to, excluding, `endsAt`; ms since 1970. */
export interface Month {
  /** E.g. `2026-10`. */
  name: string
  startsAt: number
  endsAt: number
}

/** A month whose sums stand. Its entries are those up to `lastEntry` and before `endsAt`. */
export interface ClosedMonth {
  name: string
  endsAt: number
  lastEntry: number
  closedAt: number
  actor: string
  closing: string
}

/** Parses a month. Throws GatewayError 400, which names the field. */
export function readMonth (name: string): Month {
  const startsAt = /^\d{4}-(0[1-9]|1[0-2])$/.test(name) ? Date.parse(`${name}-01T00:00Z`) : NaN
  if (Number.isNaN(startsAt) || startsAt < 0) {
    throw GatewayError.invalidValue('month', 'must be a month such as 2026-10, from 1970 on')
  }
  return monthAt(startsAt)
}

/** Returns the month of a time in ms since 1970. */
export function monthAt (at: number): Month {
  const date = new Date(at)
  const startsAt = Date.UTC(date.getUTCFullYear(), date.getUTCMonth())
  const endsAt = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1)
  return { name: new Date(startsAt).toISOString().slice(0, 7), startsAt, endsAt }
}

/** Lists the closed months, the first one first. Throws StoreUnavailable. */
export async function readClosedMonths (reports: Reports): Promise<ClosedMonth[]> {
  return await reports.all<ClosedMonth>(`
    select month as name, ends_at as "endsAt", last_entry as "lastEntry", closed_at as "closedAt", actor, closing
    from closed_month order by ends_at`)
}

/** SQL for the end of the last closed month that an entry came too late for, else null. */
export const lateUntilSql = `(
  select max(ends_at) from closed_month where closed_month.last_entry < entry.seq and closed_month.ends_at > entry.at)`
