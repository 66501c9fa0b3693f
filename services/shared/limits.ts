import type { LimitSet } from '../../schemas/admin/shared.ts'

/** The limits of a key or an account, positive integers; null for no limit. */
export interface Limits {
  readonly requestsPerMinute: number | null
  /** Prompt and completion tokens together. */
  readonly tokensPerMinute: number | null
  readonly concurrentRequests: number | null
}

export const noLimits: Limits = Object.freeze({
  requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null
})

/** Limits with their owner: `key:<id>` or `account:<id>`. */
export interface ScopedLimits extends Limits { readonly scope: string }

export const limitKinds = ['requests', 'tokens', 'concurrent'] as const
export type LimitKind = typeof limitKinds[number]

/** The largest possible limit. */
export const maxLimit = 1_000_000_000

/** Returns the limit of one kind, or null. */
export function limitOfKind (limits: Limits, kind: LimitKind): number | null {
  if (kind === 'requests') return limits.requestsPerMinute
  return kind === 'tokens' ? limits.tokensPerMinute : limits.concurrentRequests
}

/** Converts limits to the form of the admin API. */
export function toLimitSet ({ requestsPerMinute, tokensPerMinute, concurrentRequests }: Limits): LimitSet {
  return {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_requests: concurrentRequests
  }
}

/** Whether any limit is set. */
export function hasLimits (limits: Limits): boolean {
  return limitKinds.some(kind => limitOfKind(limits, kind) !== null)
}
