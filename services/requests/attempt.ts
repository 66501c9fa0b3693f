import { UpstreamError } from '../shared/errors.ts'
import type { ChatAnswer, CompletionAnswer } from '../providers/provider.ts'
import type { Permit } from '../deployments/circuit-breaker.ts'
import type { Deployment } from '../deployments/deployments.ts'
import type { Candidate } from './candidates.ts'
import { blameOf } from './classify-failure.ts'

export type Answer = ChatAnswer | CompletionAnswer

/** An answer that has begun, and who gives it. */
export interface Found {
  candidate: Candidate
  answer: Answer
  /** The clock is that of `performance.now()`. */
  firstAtMs: number
  ticket: Permit
}

/** How long others are preferred to a deployment that limits its rate and does not say for how long. */
const defaultRestMs = 1000

/**
 * Calls a candidate that its breaker lets pass, else returns null, and notes how it went. Resolves when the
 * whole answer or the first event of a stream is there. Throws UpstreamError.
 */
export async function callCandidate (
  candidate: Candidate, ask: () => Promise<Answer>
): Promise<Found | null> {
  const { breaker, statistics } = candidate.known
  const startedMs = performance.now()
  const ticket = breaker.acquire(startedMs)
  if (ticket === null) return null
  try {
    const given = await ask()
    const answer = given.kind === 'chunks' ? await begun(given) : given
    const firstAtMs = performance.now()
    breaker.succeeded(ticket, firstAtMs)
    if (answer.kind === 'json') statistics.recordAnswer(answer.report.usage?.completion ?? 0, firstAtMs - startedMs)
    else statistics.recordFirstEvent(firstAtMs - startedMs)
    return { candidate, answer, firstAtMs, ticket }
  } catch (error) {
    noteFailure(candidate.known, ticket, error)
    throw error
  }
}

/** Notes why a call of a deployment failed. */
export function noteFailure ({ breaker, statistics }: Deployment, ticket: Permit, error: unknown): void {
  const nowMs = performance.now()
  if (!(error instanceof UpstreamError)) return breaker.release(ticket)
  const blame = blameOf(error)
  if (blame === 'works') return breaker.succeeded(ticket, nowMs)
  if (error.kind === 'rate') {
    statistics.recordFailure()
    breaker.pause(error.details.retryAfterMs ?? defaultRestMs, nowMs)
  }
  if (blame === 'nothing') return breaker.release(ticket)
  statistics.recordFailure()
  breaker.failed(ticket, nowMs)
}

/** Notes how a stream went on after its first event. */
export function noteEnd ({ candidate, answer, firstAtMs, ticket }: Found, isBroken: boolean): void {
  const { breaker, statistics } = candidate.known
  const nowMs = performance.now()
  if (isBroken) {
    statistics.recordFailure()
    breaker.failed(ticket, nowMs)
  } else if (answer.kind !== 'json') {
    statistics.recordStreamEnd(answer.report.usage?.completion ?? 0, nowMs - firstAtMs)
  }
}

/** An answer whose first chunk is there: what fails before it can still be replaced. */
async function begun (answer: Extract<Answer, { kind: 'chunks' }>): Promise<Answer> {
  // The two kinds of chunks are told apart by nothing that matters here.
  const chunks: AsyncIterable<unknown> = answer.chunks
  const iterator = chunks[Symbol.asyncIterator]()
  const first = await iterator.next()
  return { ...answer, chunks: resumed(first, iterator) } as Answer
}

function resumed<Chunk> (
  first: IteratorResult<Chunk>, iterator: AsyncIterator<Chunk>
): AsyncIterable<Chunk> {
  let held: IteratorResult<Chunk> | null = first
  return {
    [Symbol.asyncIterator]: () => ({
      next () {
        if (held === null) return iterator.next()
        const value = held
        held = null
        return Promise.resolve(value)
      },
      return: async value => await iterator.return?.(value) ?? { done: true, value }
    })
  }
}
