import { GatewayError } from '../../../shared/errors.ts'

/** A month in UTC, from `startsAt` up to, excluding, `endsAt`; ms since 1970. */
export interface Month {
  /** E.g. `2026-10`. */
  name: string
  startsAt: number
  endsAt: number
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
