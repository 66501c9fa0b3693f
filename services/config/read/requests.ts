import { breakerDefaults, requestsDefaults } from '../../../schemas/config/requests.ts'
import type { BreakerEntry, RequestsEntry } from '../../../schemas/config/requests.ts'
import type { BreakerConfig, RequestsConfig } from '../../catalogue/types.ts'

/** `requests` of the file, with defaults where it is silent. */
export function readRequests (entry: RequestsEntry = {}): RequestsConfig {
  return {
    deadlineMs: entry.deadline_ms ?? requestsDefaults.deadlineMs,
    retries: entry.retries ?? requestsDefaults.retries,
    backoffMs: entry.backoff_ms ?? requestsDefaults.backoffMs,
    maxRetryAfterMs: entry.max_retry_after_ms ?? requestsDefaults.maxRetryAfterMs,
    retryUnsure: entry.retry_unsure ?? requestsDefaults.retryUnsure,
    hedgeAfterMs: entry.hedge_after_ms ?? requestsDefaults.hedgeAfterMs,
    allowDearerFallbacks: entry.allow_dearer_fallbacks ?? requestsDefaults.allowDearerFallbacks
  }
}

/** `breaker` of the file, with defaults where it is silent. */
export function readBreaker (entry: BreakerEntry = {}): BreakerConfig {
  return {
    failures: entry.failures ?? breakerDefaults.failures,
    errorRate: entry.error_rate ?? breakerDefaults.errorRate,
    minRequests: entry.min_requests ?? breakerDefaults.minRequests,
    windowMs: entry.window_ms ?? breakerDefaults.windowMs,
    openMs: entry.open_ms ?? breakerDefaults.openMs,
    probeEveryMs: entry.probe_every_ms ?? breakerDefaults.probeEveryMs
  }
}
