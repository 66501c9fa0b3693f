import { UpstreamError } from '../shared/errors.ts'
import type { Permit } from '../deployments/circuit-breaker.ts'
import type { Deployment } from '../deployments/deployments.ts'
import type { Candidate } from './candidates.ts'
import { blameOf } from './classify-failure.ts'

/** One call of a candidate that has answered: the whole answer, or the beginning of a stream. */
export interface Attempt<C extends Candidate, Answer> {
  candidate: C
  answer: Answer
  /** When the answer began, on the clock of `performance.now()`. */
  firstAtMs: number
  permit: Permit
}

/** How to call a candidate, and how to read from its answer what the statistics need. */
export interface Call<C extends Candidate, Answer> {
  /** Resolves with the whole answer, or when a stream has begun. Throws UpstreamError. */
  ask (candidate: C, signal: AbortSignal): Promise<Answer>
  /** Tokens of a whole answer; null for a stream, which goes on. */
  tokensOf (answer: Answer): number | null
}

/** How long other candidates are preferred after a 429 without a retry-after. */
const defaultPauseMs = 1000

/**
 * Calls a candidate and records the outcome in its health; null if its circuit breaker is open. Throws
 * UpstreamError.
 */
export async function attempt<C extends Candidate, Answer> (
  candidate: C, signal: AbortSignal, { ask, tokensOf }: Call<C, Answer>
): Promise<Attempt<C, Answer> | null> {
  const { breaker, statistics } = candidate.health
  const startedMs = performance.now()
  const permit = breaker.acquire(startedMs)
  if (permit === null) return null
  try {
    const answer = await ask(candidate, signal)
    const firstAtMs = performance.now()
    breaker.succeeded(permit, firstAtMs)
    const tokens = tokensOf(answer)
    if (tokens === null) statistics.recordFirstEvent(firstAtMs - startedMs)
    else statistics.recordAnswer(tokens, firstAtMs - startedMs)
    return { candidate, answer, firstAtMs, permit }
  } catch (error) {
    recordFailure(candidate.health, permit, error)
    throw error
  }
}

/** Records how a stream went on after it had begun: broken off, or with so many tokens. */
export function recordStreamEnd (
  { candidate: { health }, firstAtMs, permit }: Attempt<Candidate, unknown>, tokens: number | 'broken'
): void {
  const nowMs = performance.now()
  if (tokens !== 'broken') return health.statistics.recordStreamEnd(tokens, nowMs - firstAtMs)
  health.statistics.recordFailure()
  health.breaker.failed(permit, nowMs)
}

function recordFailure ({ breaker, statistics }: Deployment, permit: Permit, error: unknown): void {
  const nowMs = performance.now()
  if (!(error instanceof UpstreamError)) return breaker.release(permit)
  const blame = blameOf(error)
  if (blame === 'works') return breaker.succeeded(permit, nowMs)
  if (error.kind === 'rate') {
    statistics.recordFailure()
    breaker.pause(error.details.retryAfterMs ?? defaultPauseMs, nowMs)
  }
  if (blame === 'nothing') return breaker.release(permit)
  statistics.recordFailure()
  breaker.failed(permit, nowMs)
}
