import type { ImageGenerationRequest } from '../../schemas/images-generations.ts'
import type { ImageAnswer } from '../providers/image-maker.ts'
import type { Trace } from '../trace.ts'
import { mayTryElsewhere, type Candidate } from './candidates.ts'

interface Order {
  request: ImageGenerationRequest
  requestId: string
  signal: AbortSignal
  trace: Trace
}

/** Makes images at the first candidate that can. Throws what the last one tried has thrown. */
export async function makeAtFirst (
  candidates: readonly Candidate[], { request, requestId, signal, trace }: Order
): Promise<{ candidate: Candidate, answer: ImageAnswer }> {
  let failure: unknown
  for (const candidate of candidates) {
    const { provider, upstreamModel: model, make, wanted: { count, size, quality } } = candidate
    trace.provider = provider
    trace.upstreamModel = model
    trace.attempts += 1
    try {
      const answer = await make({ request, model, count, size, quality, requestId, signal })
      return { candidate, answer }
    } catch (error) {
      failure = error
      if (signal.aborted || !mayTryElsewhere(error)) break
    }
  }
  throw signal.aborted ? signal.reason : failure
}
