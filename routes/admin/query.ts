import { GatewayError } from '../../services/shared/errors.ts'
import type { PageRequest } from '../../services/operations/admin/page.ts'
import { readIsoTime } from '../../services/shared/iso-time.ts'
import { withinRange } from '../../services/operations/admin/amounts.ts'

/** The page selected by a validated query string. */
export function toPageRequest ({ limit, after }: { limit?: string, after?: string }): PageRequest {
  return { limit: limit === undefined ? undefined : Number(limit), after }
}

/** The time in a validated query string, in milliseconds. Throws GatewayError 400. */
export function toPeriod ({ from, to }: { from?: string, to?: string }): { from?: number, to?: number } {
  return {
    ...(from === undefined ? {} : { from: withinRange('from', () => readIsoTime(from)) }),
    ...(to === undefined ? {} : { to: withinRange('to', () => readIsoTime(to)) })
  }
}

/** Throws GatewayError 400 for paging parameters of a report without pages. */
export function refusePaging (query: { limit?: string, after?: string }): void {
  for (const param of ['limit', 'after'] as const) {
    if (query[param] === undefined) continue
    throw GatewayError.invalidRequest(`'${param}' is for pages of JSON; CSV has every row.`,
      { param, code: 'invalid_value' })
  }
}
