import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import type { GivenLimits, LimitSet } from '../schemas/admin/shared.ts'
import { maxLimit } from '../services/shared/limits.ts'

/** False: a limit that is taken away. */
export interface LimitOptions {
  rpm?: number | false
  tpm?: number | false
  concurrent?: number | false
}

/** Adds the options that set limits. */
export function withLimits (command: Command): Command {
  return command
    .option('--rpm <count>', 'requests per minute', toLimit)
    .option('--tpm <count>', 'tokens per minute, of prompts and answers', toLimit)
    .option('--concurrent <count>', 'requests at the same time', toLimit)
}

/** Adds the options that take limits away. */
export function withoutLimits (command: Command): Command {
  return command
    .option('--no-rpm', 'any number of requests per minute')
    .option('--no-tpm', 'any number of tokens per minute')
    .option('--no-concurrent', 'any number of requests at the same time')
}

/** The limits that were given, as the admin API takes them; nothing when none was. */
export function limitsOf ({ rpm, tpm, concurrent }: LimitOptions): { limits?: GivenLimits } {
  const limits = {
    ...(rpm !== undefined && { requests_per_minute: rpm === false ? null : rpm }),
    ...(tpm !== undefined && { tokens_per_minute: tpm === false ? null : tpm }),
    ...(concurrent !== undefined && { concurrent_requests: concurrent === false ? null : concurrent })
  }
  return Object.keys(limits).length === 0 ? {} : { limits }
}

/** Limits in one cell of a table, e.g. `60 rpm, 4 at once`. */
export function limitsText (limits: LimitSet): string {
  const parts = [
    limits.requests_per_minute !== null && `${limits.requests_per_minute} rpm`,
    limits.tokens_per_minute !== null && `${limits.tokens_per_minute} tpm`,
    limits.concurrent_requests !== null && `${limits.concurrent_requests} at once`
  ]
  return parts.filter((part) => part !== false).join(', ')
}

function toLimit (text: string): number {
  const limit = Number(text)
  if (/^\d{1,10}$/.test(text) && limit >= 1 && limit <= maxLimit) return limit
  throw new InvalidArgumentError(`It is a number from 1 to ${maxLimit}.`)
}
