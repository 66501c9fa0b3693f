import { InvalidArgumentError, type Command } from 'commander'
import type { GivenLimits, LimitSet } from '../schemas/admin/shared.ts'
import { maxLimit } from '../services/shared/limits.ts'

/** False removes the limit. */
export interface LimitOptions { rpm?: number | false, tpm?: number | false, concurrent?: number | false }

/** Adds the options that set limits. */
export function withLimits (command: Command): Command {
  return command
    .option('--rpm <count>', 'most requests per minute', parseLimit)
    .option('--tpm <count>', 'most prompt and completion tokens per minute', parseLimit)
    .option('--concurrent <count>', 'most concurrent requests', parseLimit)
}

/** Adds the options that remove limits. */
export function withoutLimits (command: Command): Command {
  return command
    .option('--no-rpm', 'remove the limit of requests per minute')
    .option('--no-tpm', 'remove the limit of tokens per minute')
    .option('--no-concurrent', 'remove the limit of concurrent requests')
}

/** Returns the given limits in the form of the admin API; without any, an empty object. */
export function limitsOf ({ rpm, tpm, concurrent }: LimitOptions): { limits?: GivenLimits } {
  const limits = {
    ...(rpm !== undefined && { requests_per_minute: rpm === false ? null : rpm }),
    ...(tpm !== undefined && { tokens_per_minute: tpm === false ? null : tpm }),
    ...(concurrent !== undefined && { concurrent_requests: concurrent === false ? null : concurrent })
  }
  return Object.keys(limits).length === 0 ? {} : { limits }
}

/** Formats limits for one cell of a table, e.g. `60 rpm, 4 concurrent`. */
export function limitsText (limits: LimitSet): string {
  const parts = [
    limits.requests_per_minute !== null && `${limits.requests_per_minute} rpm`,
    limits.tokens_per_minute !== null && `${limits.tokens_per_minute} tpm`,
    limits.concurrent_requests !== null && `${limits.concurrent_requests} concurrent`
  ]
  return parts.filter((part) => part !== false).join(', ')
}

function parseLimit (text: string): number {
  const limit = Number(text)
  if (/^\d{1,10}$/.test(text) && limit >= 1 && limit <= maxLimit) return limit
  throw new InvalidArgumentError(`Expected an integer from 1 to ${maxLimit}.`)
}
