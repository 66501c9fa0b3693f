import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import { noteFailure } from '../requests/attempt.ts'
import { unavailable } from '../requests/classify-failure.ts'
import type { Deployment, Deployments } from '../deployments/deployments.ts'
import type { ImageAnswer } from '../providers/provider-image.ts'
import type { Trace } from '../requests/trace.ts'
import { mayTryElsewhere, type Candidate } from './candidates.ts'

interface Order {
  request: ImageGenerationRequest
  requestId: string
  signal: AbortSignal
  trace: Trace
  deployments: Pick<Deployments, 'of'>
}

interface Place { candidate: Candidate, known: Deployment }

/**
 * Makes images at the first candidate that can; those that asked for a pause come last, and those that keep
 * failing are left alone. Throws what the last one tried has thrown, or GatewayError 503 when none was.
 */
export async function makeAtFirst (
  candidates: readonly Candidate[], { request, requestId, signal, trace, deployments }: Order
): Promise<{ candidate: Candidate, answer: ImageAnswer }> {
  const places = candidates.map((candidate): Place => {
    const { provider, upstreamModel: model } = candidate
    return { candidate, known: deployments.of({ provider, model }) }
  })
  let failure: unknown
  for (const { candidate, known } of pausedLast(places)) {
    const { provider, upstreamModel: model, make, wanted: { count, size, quality } } = candidate
    const startedMs = performance.now()
    const ticket = known.breaker.acquire(startedMs)
    if (ticket === null) continue
    trace.provider = provider
    trace.upstreamModel = model
    trace.attempts += 1
    try {
      const answer = await make({ request, model, count, size, quality, requestId, signal })
      const endedMs = performance.now()
      known.breaker.succeeded(ticket, endedMs)
      known.statistics.recordAnswer(0, endedMs - startedMs)
      return { candidate, answer }
    } catch (error) {
      noteFailure(known, ticket, error)
      failure = error
      if (signal.aborted || !mayTryElsewhere(error)) break
    }
  }
  if (signal.aborted) throw signal.reason
  throw failure ?? unavailable(places.map(({ known }) => known))
}

function pausedLast (places: readonly Place[]): Place[] {
  const nowMs = performance.now()
  const { ready = [], paused = [] } = Object.groupBy(places, ({ known }) => known.breaker.state(nowMs))
  return [...ready, ...paused]
}
