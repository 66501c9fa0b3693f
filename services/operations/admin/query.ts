import { GatewayError } from '../../shared/errors.ts'
import { readIsoTime } from '../../shared/iso-time.ts'
import { withinRange } from './amounts.ts'

/** The page selected by a validated query string. */
export function toPageRequest (
  { limit, after }: { limit?: string, after?: string }
): { limit: number | undefined, after: string | undefined } {
  return { limit: limit === undefined ? undefined : Number(limit), after }
}

/** The time range in a validated query string, in milliseconds. Throws GatewayError 400. */
export function toPeriod (
  { from, to }: { from?: string, to?: string }
): { from: number | undefined, to: number | undefined } {
  return { from: toTime('from', from), to: toTime('to', to) }
}

/** The time in the field `param`, in milliseconds. Throws GatewayError 400. */
export function toTime (param: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : withinRange(param, () => readIsoTime(text))
}

/** Throws GatewayError 400 for paging parameters of a report without pages. */
export function refusePaging (query: { limit?: string, after?: string }): void {
  for (const param of ['limit', 'after'] as const) {
    if (query[param] === undefined) continue
    throw GatewayError.invalidRequest(`'${param}' is for pages of JSON; CSV has every row.`,
      { param, code: 'invalid_value' })
  }
}
