import { GatewayError } from '../../services/shared/errors.ts'
import type { PageRequest } from '../../services/operations/admin/page.ts'
import { readIsoTime } from '../../services/shared/iso-time.ts'
import { withinRange } from '../../services/operations/admin/amounts.ts'

/** The page that a validated query string asks for. */
export function toPageRequest ({ limit, after }: { limit?: string, after?: string }): PageRequest {
  return { limit: limit === undefined ? undefined : Number(limit), after }
}

/** The time that a validated query string asks for, in milliseconds. Throws GatewayError 400. */
export function toPeriod ({ from, to }: { from?: string, to?: string }): { from?: number, to?: number } {
  return {
    ...(from === undefined ? {} : { from: withinRange('from', () => readIsoTime(from)) }),
    ...(to === undefined ? {} : { to: withinRange('to', () => readIsoTime(to)) })
  }
}

/** Throws GatewayError 400 when a page is asked for of what has none. */
export function refusePaging (query: { limit?: string, after?: string }): void {
  for (const param of ['limit', 'after'] as const) {
    if (query[param] === undefined) continue
    throw GatewayError.invalidRequest(`'${param}' is for pages of JSON; CSV has every row.`,
      { param, code: 'invalid_value' })
  }
}
