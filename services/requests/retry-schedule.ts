import type { RequestsConfig } from '../catalogue/types.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { Candidate } from './candidates.ts'
import { meaningOf } from './classify-failure.ts'

/** Whose turn it is, and how long to wait before. */
export interface Turn { candidate: Candidate, waitMs: number }

/** The deployments of one model while one request tries them. */
export interface Turns {
  /** Whether the model stands in for the one that was asked for. */
  readonly isFallback: boolean
  /** The next to try; null when none is left. Times are of a clock that is never set. */
  next (nowMs: number): Turn | null
  /** Those that may still be tried, and were passed over the last time because their breaker was open. */
  barred (): Candidate[]
  /** One that was not tried yet and may be at once, at the same price; null when there is none. */
  spare (beside: Candidate, nowMs: number): Candidate | null
  failed (candidate: Candidate, error: UpstreamError, nowMs: number): void
  /** It is not tried any more for this request. */
  leave (candidate: Candidate): void
}

interface Contestant {
  candidate: Candidate
  tries: number
  /** How often it refused, or was too slow. */
  doubts: number
  isBarred: boolean
  notBeforeMs: number
  isOut: boolean
}

export type TurnLimits = Pick<RequestsConfig, 'retries' | 'backoffMs' | 'maxRetryAfterMs'>

const maxBackoffMs = 8000
/** What refused or was too slow gets one more chance, after all others have failed as well. */
const maxDoubts = 2

/**
 * Takes turns: first each in the given order, at once; then those that may work the next time, each after a
 * wait that doubles, or as its provider asked. One whose breaker is open is passed over, one that rests comes
 * after the others.
 */
export function createTurns (
  candidates: readonly Candidate[], limits: TurnLimits, isFallback: boolean, random: () => number
): Turns {
  const contestants = candidates.map((candidate): Contestant => {
    return { candidate, tries: 0, doubts: 0, isBarred: false, notBeforeMs: -Infinity, isOut: false }
  })
  const find = (candidate: Candidate) => contestants.find(one => one.candidate === candidate)

  return {
    isFallback,

    next (nowMs) {
      let best: Contestant | null = null
      let bestRests = true
      for (const one of contestants) {
        if (one.isOut) continue
        const standing = one.candidate.known.breaker.state(nowMs)
        one.isBarred = standing === 'open'
        if (one.isBarred) continue
        const rests = standing === 'paused'
        if (best !== null && (rests === bestRests ? one.notBeforeMs >= best.notBeforeMs : rests)) continue
        best = one
        bestRests = rests
      }
      return best && { candidate: best.candidate, waitMs: Math.max(0, best.notBeforeMs - nowMs) }
    },

    barred () {
      return contestants.filter(({ isBarred, isOut }) => isBarred && !isOut).map(({ candidate }) => candidate)
    },

    spare (beside, nowMs) {
      return contestants.find(({ candidate, tries, isOut }) => {
        return candidate !== beside && tries === 0 && !isOut && candidate.price === beside.price &&
          candidate.known.breaker.state(nowMs) === 'ready'
      })?.candidate ?? null
    },

    failed (candidate, error, nowMs) {
      const one = find(candidate)
      if (one === undefined) return
      const { retryAfterMs = 0, shouldRetry } = error.details
      const meaning = meaningOf(error, isFallback)
      one.tries++
      if (meaning !== 'passing') one.doubts++
      const isAlone = contestants.length === 1
      one.isOut = shouldRetry === false || retryAfterMs > limits.maxRetryAfterMs ||
        one.tries > limits.retries || one.doubts >= maxDoubts || (isAlone && meaning === 'refused')
      const backoffMs = Math.min(limits.backoffMs * 2 ** (one.tries - 1), maxBackoffMs)
      one.notBeforeMs = nowMs + Math.max(retryAfterMs, backoffMs * (0.5 + random() / 2))
    },

    leave (candidate) {
      const one = find(candidate)
      if (one !== undefined) one.isOut = true
    }
  }
}
