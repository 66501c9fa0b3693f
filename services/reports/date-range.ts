import { GatewayError } from '../shared/errors.ts'
import { readIsoTime } from '../shared/iso-time.ts'

/** Dates such as `2026-11-21`, in UTC. */
export interface GivenDates { start_date?: string | undefined, end_date?: string | undefined }

/** Midnights in UTC, in milliseconds since 1970; `from` is included, `to` is not. */
export interface DateRange { from: number, to: number }

const dayMs = 86_400_000
const maxDays = 100

/**
 * Reads the days that are asked for. As with OpenAI, `end_date` is the first day that is not meant any more,
 * and 100 days are the most. Without `end_date` today is the last one, without `start_date` it is as many as
 * can be. Throws GatewayError 400.
 */
export function readDateRange ({ start_date: start, end_date: end }: GivenDates, now: number): DateRange {
  const to = end === undefined ? Math.floor(now / dayMs + 1) * dayMs : readDate('end_date', end)
  const from = start === undefined ? Math.max(0, to - maxDays * dayMs) : readDate('start_date', start)
  if (from >= to) refuse('end_date', 'it has to be after \'start_date\'')
  if (to - from > maxDays * dayMs) refuse('start_date', `at most ${maxDays} days can be asked for at once`)
  return { from, to }
}

function readDate (param: string, text: string): number {
  const expected = 'expected a date such as 2026-11-21, from 1970 on'
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
  throw GatewayError.invalidRequest(`Invalid '${param}': ${why}.`, { param, code: 'invalid_value' })
}
