/** What a key or an account may do; null: no limit. Positive integers. */
export interface Limits {
  readonly requestsPerMinute: number | null
  /** Of prompts and answers together. */
  readonly tokensPerMinute: number | null
  /** How many requests may run at the same time. */
  readonly concurrentRequests: number | null
}

export const noLimits: Limits = Object.freeze({
  requestsPerMinute: null, tokensPerMinute: null, concurrentRequests: null
})

/** Limits and whose they are: `key:<id>` or `account:<id>`. */
export interface ScopedLimits extends Limits { readonly scope: string }

export const limitKinds = ['requests', 'tokens', 'concurrent'] as const
export type LimitKind = typeof limitKinds[number]

/** The greatest limit that can be set; further ones are no limit. */
export const maxLimit = 1_000_000_000

export function limitOfKind (limits: Limits, kind: LimitKind): number | null {
  if (kind === 'requests') return limits.requestsPerMinute
  return kind === 'tokens' ? limits.tokensPerMinute : limits.concurrentRequests
}

export function hasLimits (limits: Limits): boolean {
  return limitKinds.some(kind => limitOfKind(limits, kind) !== null)
}
