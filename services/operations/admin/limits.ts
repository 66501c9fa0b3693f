import type { GivenLimits } from '../../../schemas/admin/shared.ts'
import { noLimits, type Limits } from '../../shared/limits.ts'

/** Merges limits into the previous ones; null removes a limit, an absent one keeps its value. */
export function mergeLimits (given: GivenLimits, before: Limits = noLimits): Limits {
  return {
    requestsPerMinute: merged(given.requests_per_minute, before.requestsPerMinute),
    tokensPerMinute: merged(given.tokens_per_minute, before.tokensPerMinute),
    concurrentRequests: merged(given.concurrent_requests, before.concurrentRequests)
  }
}

function merged (given: number | null | undefined, before: number | null): number | null {
  return given === undefined ? before : given
}
