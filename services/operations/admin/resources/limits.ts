import type { LimitSet } from '../../../../schemas/admin/shared.ts'
import { option } from '../operation.ts'

/** The options that set and remove limits. */
export const limitsOption = option('--rpm <count>', 'most requests per minute', { as: 'limits', none: '' })

/** Formats limits for one cell of a table, e.g. `60 rpm, 4 concurrent`. */
export function limitsText (limits: LimitSet): string {
  const parts = [
    limits.requests_per_minute !== null && `${limits.requests_per_minute} rpm`,
    limits.tokens_per_minute !== null && `${limits.tokens_per_minute} tpm`,
    limits.concurrent_requests !== null && `${limits.concurrent_requests} concurrent`
  ]
  return parts.filter((part) => part !== false).join(', ')
}
