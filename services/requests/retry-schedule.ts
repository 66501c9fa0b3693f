import type { RequestsConfig } from '../catalogue/types.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { Candidate, Plan } from './candidates.ts'
import { isProviders, meaningOf } from './classify-failure.ts'

/** When to try which candidate, for one request. Times are monotonic. */
export interface RetrySchedule<C> {
  /** The next to try and how long to wait before; null when none is left. */
  next (nowMs: number): ScheduledTry<C> | null
  /** One that was not tried yet, may be called at once and has the same price; null when there is none. */
  spare (beside: C, nowMs: number): C | null
  /** Whether one at another provider was not tried yet and may be called at once. */
  hasElsewhere (beside: C, nowMs: number): boolean
  isFallback (candidate: C): boolean
  failed (candidate: C, error: UpstreamError, nowMs: number): void
  /** Its circuit breaker let no call through. */
  blocked (one: ScheduledTry<C>, nowMs: number): void
  /** Rules a candidate out for this request. */
  drop (candidate: C): void
  /** Whether a retry-after was waited out in vain. */
  hasWaited (): boolean
}

export interface ScheduledTry<C> {
  candidate: C
  waitMs: number
  /** Its circuit breaker is open, and there is no other way. */
  isLastWay: boolean
}

interface Entry<C> {
  candidate: C
  isFallback: boolean
  tries: number
  /** How often it refused, or was too slow. */
  refusals: number
  /** How often it asked for a wait, and how long these waits are together. */
  delays: number
  delaysMs: number
  notBeforeMs: number
  /** Its circuit breaker has let no call of this request through. */
  isBlocked: boolean
  isOut: boolean
}

interface ScheduleOptions<C> {
  plan: Plan<C>
  limits: Pick<RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs'>
  /** The order in which to try the deployments of one model. */
  order: (candidates: readonly C[]) => readonly C[]
  /** In [0, 1). */
  random: () => number
  /** Id of the API key. */
  key: string
}

const maxBackoffMs = 8000
/** A deployment that refused or was too slow gets one more try, after all others have failed. */
const maxRefusals = 2
/** A retry-after is waited out once, and again only if both are short; the next one is for the client. */
const shortDelaysMs = 500

/**
 * Creates a schedule: first each candidate at once, the model asked for before its fallbacks, but those of
 * providers that have not failed before all others; then those that are paused; then retries, each after a
 * backoff that doubles, with jitter, or after the provider's retry-after; last those whose breaker is open.
 */
export function createRetrySchedule<C extends Candidate> (
  { plan, limits, order, random, key }: ScheduleOptions<C>
): RetrySchedule<C> {
  const entries: Entry<C>[] = []
  const failedProviders = new Set<string>()
  let fallbacks: Iterator<readonly C[]> | null = null
  addAll(plan.asked, false)

  function addAll (candidates: readonly C[], isFallback: boolean): void {
    for (const candidate of order(candidates)) {
      entries.push({
        candidate,
        isFallback,
        tries: 0,
        refusals: 0,
        delays: 0,
        delaysMs: 0,
        notBeforeMs: -Infinity,
        isBlocked: false,
        isOut: false
      })
    }
  }

  /** Adds the next fallback; false if there is none. */
  function addFallback (): boolean {
    fallbacks ??= plan.fallbacks()[Symbol.iterator]()
    const { done, value } = fallbacks.next()
    if (done === true) return false
    addAll(value, true)
    return true
  }

  const find = (candidate: C) => entries.find(entry => entry.candidate === candidate)
  const stateOf = ({ candidate, isBlocked }: Entry<C>, nowMs: number) =>
    isBlocked ? 'open' : candidate.health.breaker.state(nowMs, key)

  const isFresh = (entry: Entry<C>, nowMs: number) =>
    entry.tries === 0 && !entry.isOut && stateOf(entry, nowMs) === 'ready'

  /** The first that was not tried, of those at providers that have not failed; adds fallbacks to find one. */
  function freshElsewhere (nowMs: number, besides: string | null): Entry<C> | undefined {
    const isElsewhere = (entry: Entry<C>) => {
      const { provider } = entry.candidate.deployment
      return isFresh(entry, nowMs) && !failedProviders.has(provider) && provider !== besides
    }
    let found = entries.find(isElsewhere)
    while (found === undefined && addFallback()) found = entries.find(isElsewhere)
    return found
  }

  function fresh (nowMs: number): Entry<C> | undefined {
    return freshElsewhere(nowMs, null) ?? entries.find(entry => isFresh(entry, nowMs))
  }

  /** The one to try soonest, of those whose breaker is open or not. */
  function soonest (nowMs: number, isOpen: boolean): Entry<C> | undefined {
    let best: Entry<C> | undefined
    for (const entry of entries) {
      if (entry.isOut || (stateOf(entry, nowMs) === 'open') !== isOpen) continue
      if (best === undefined || entry.notBeforeMs < best.notBeforeMs) best = entry
    }
    return best
  }

  // No getters: an object literal with one has a hidden class of its own, which keeps its request in memory.
  return {
    next (nowMs) {
      const callable = fresh(nowMs) ?? soonest(nowMs, false)
      const entry = callable ?? soonest(nowMs, true)
      if (entry === undefined) return null
      const waitMs = Math.max(0, entry.notBeforeMs - nowMs)
      return { candidate: entry.candidate, waitMs, isLastWay: callable === undefined }
    },

    spare (beside, nowMs) {
      return entries.find(({ candidate, tries, isOut }) => {
        return candidate !== beside && tries === 0 && !isOut && candidate.price === beside.price &&
          candidate.health.breaker.state(nowMs, key) === 'ready'
      })?.candidate ?? null
    },

    hasElsewhere: (beside, nowMs) => freshElsewhere(nowMs, beside.deployment.provider) !== undefined,

    isFallback: candidate => find(candidate)?.isFallback ?? false,

    failed (candidate, error, nowMs) {
      const entry = find(candidate)
      if (entry === undefined) return
      const { retryAfterMs = 0, shouldRetry } = error.details
      const meaning = meaningOf(error, entry.isFallback)
      if (isProviders(error, meaning)) failedProviders.add(candidate.deployment.provider)
      if (meaning === 'model') for (const one of entries) one.isOut ||= one.candidate.model === candidate.model
      entry.tries++
      if (meaning !== 'passing') entry.refusals++
      if (retryAfterMs > 0) entry.delays++
      entry.delaysMs += retryAfterMs
      const isAlone = entries.length === 1
      entry.isOut ||= shouldRetry === false || retryAfterMs > limits.maxRetryAfterMs ||
        entry.tries > limits.retries || entry.refusals >= maxRefusals ||
        (entry.delays > 1 && entry.delaysMs > shortDelaysMs) ||
        (isAlone && meaning === 'refused')
      entry.notBeforeMs = nowMs + Math.max(retryAfterMs, backoffMs(entry.tries))
    },

    blocked ({ candidate, isLastWay }, nowMs) {
      const entry = find(candidate)
      if (entry === undefined) return
      entry.isBlocked = true
      if (!isLastWay) return
      entry.tries++
      entry.isOut = entry.tries > limits.retries
      entry.notBeforeMs = nowMs + backoffMs(entry.tries)
    },

    drop (candidate) {
      const entry = find(candidate)
      if (entry !== undefined) entry.isOut = true
    },

    hasWaited: () => entries.some(({ delays }) => delays > 1)
  }

  function backoffMs (tries: number): number {
    return Math.min(limits.backoffMs * 2 ** (tries - 1), maxBackoffMs) * (0.5 + random() / 2)
  }
}
