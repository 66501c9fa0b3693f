import { GatewayError } from '../shared/errors.ts'

/** The header by which a client says how long it wants to wait at most, in ms. */
export const deadlineHeader = 'x-tollgate-deadline-ms'

const maxMs = 86_400_000

/** Reads the header; null without one. Throws GatewayError 400 unless it is a whole number, a day at most. */
export function readDeadline (value: string | string[] | undefined): number | null {
  if (value === undefined) return null
  const ms = Number(value)
  if (typeof value === 'string' && /^\d{1,8}$/.test(value) && ms >= 1 && ms <= maxMs) return ms
  throw GatewayError.invalidRequest(`The header ${deadlineHeader} must be whole milliseconds from 1 to ${maxMs}.`)
}
