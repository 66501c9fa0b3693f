import type { GivenLimits, LimitSet } from '../../schemas/admin/shared.ts'
import { noLimits } from '../shared/limits.ts'
import type { Limits } from '../shared/limits.ts'

/** Limits as operators see them. */
export function toLimitSet ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits): LimitSet {
  return {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests
  }
}

/** The limits after a change; what is not given stays as it was `before`. */
export function changedLimits (given: GivenLimits, before: Limits = noLimits): Limits {
  return {
    requestsPerMinute: chosen(given.requests_per_minute, before.requestsPerMinute),
    tokensPerMinute: chosen(given.tokens_per_minute, before.tokensPerMinute),
    concurrentRequests: chosen(given.concurrent_requests, before.concurrentRequests)
  }
}

function chosen (given: number | null | undefined, before: number | null): number | null {
  return given === undefined ? before : given
}
