import type { RequestsConfig } from '../catalogue/types.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { Candidate } from './candidates.ts'
import { meaningOf } from './classify-failure.ts'

/** When to try which deployment of one model, for one request. Times are monotonic. */
export interface RetrySchedule<C> {
  /** Whether the model stands in for the one that was asked for. */
  readonly isFallback: boolean
  /** The next to try and how long to wait before; null when none is left. */
  next (nowMs: number): { candidate: C, waitMs: number } | null
  /** Those that `next` passed over the last time because their circuit breaker was open. */
  skipped (): C[]
  /** One that was not tried yet, may be called at once and has the same price; null when there is none. */
  spare (beside: C, nowMs: number): C | null
  failed (candidate: C, error: UpstreamError, nowMs: number): void
  /** Rules a candidate out for this request. */
  drop (candidate: C): void
}

interface Entry<C> {
  candidate: C
  tries: number
  /** How often it refused, or was too slow. */
  refusals: number
  isSkipped: boolean
  notBeforeMs: number
  isOut: boolean
}

const maxBackoffMs = 8000
/** A deployment that refused or was too slow gets one more try, after all others have failed. */
const maxRefusals = 2

/**
 * Creates a schedule: first each candidate in the given order, at once; then those that may work the next
 * time, each after a backoff that doubles, with jitter, or after the provider's retry-after. A candidate
 * whose circuit breaker is open is skipped; one that is paused comes after the others.
 */
export function createRetrySchedule<C extends Candidate> (
  candidates: readonly C[], limits: Pick<RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs'>,
  isFallback: boolean, random: () => number
): RetrySchedule<C> {
  const entries = candidates.map((candidate): Entry<C> => {
    return { candidate, tries: 0, refusals: 0, isSkipped: false, notBeforeMs: -Infinity, isOut: false }
  })
  const find = (candidate: C) => entries.find(entry => entry.candidate === candidate)

  return {
    isFallback,

    next (nowMs) {
      let best: Entry<C> | null = null
      let bestIsPaused = true
      for (const entry of entries) {
        if (entry.isOut) continue
        const state = entry.candidate.health.breaker.state(nowMs)
        entry.isSkipped = state === 'open'
        if (entry.isSkipped) continue
        const isPaused = state === 'paused'
        const isLater = best !== null && entry.notBeforeMs >= best.notBeforeMs
        if (best !== null && (isPaused === bestIsPaused ? isLater : isPaused)) continue
        best = entry
        bestIsPaused = isPaused
      }
      return best && { candidate: best.candidate, waitMs: Math.max(0, best.notBeforeMs - nowMs) }
    },

    skipped () {
      return entries.filter(({ isSkipped, isOut }) => isSkipped && !isOut).map(({ candidate }) => candidate)
    },

    spare (beside, nowMs) {
      return entries.find(({ candidate, tries, isOut }) => {
        return candidate !== beside && tries === 0 && !isOut && candidate.price === beside.price &&
          candidate.health.breaker.state(nowMs) === 'ready'
      })?.candidate ?? null
    },

    failed (candidate, error, nowMs) {
      const entry = find(candidate)
      if (entry === undefined) return
      const { retryAfterMs = 0, shouldRetry } = error.details
      const meaning = meaningOf(error, isFallback)
      entry.tries++
      if (meaning !== 'passing') entry.refusals++
      const isAlone = entries.length === 1
      entry.isOut = shouldRetry === false || retryAfterMs > limits.maxRetryAfterMs ||
        entry.tries > limits.retries || entry.refusals >= maxRefusals || (isAlone && meaning === 'refused')
      const backoffMs = Math.min(limits.backoffMs * 2 ** (entry.tries - 1), maxBackoffMs)
      entry.notBeforeMs = nowMs + Math.max(retryAfterMs, backoffMs * (0.5 + random() / 2))
    },

    drop (candidate) {
      const entry = find(candidate)
      if (entry !== undefined) entry.isOut = true
    }
  }
}
