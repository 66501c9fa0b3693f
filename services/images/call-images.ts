import type { GeneratedImages } from '../providers/provider-image.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { Attempt } from '../requests/attempt.ts'
import type { Candidate, Plan } from '../requests/candidates.ts'
import { failover, type RetryLimits } from '../requests/failover.ts'
import type { Exchange } from '../requests/exchange.ts'
import type { RequestReservation } from '../requests/request-reservation.ts'
import { setCandidate } from '../requests/request-record.ts'
import type { ImageCandidate } from './plan-images.ts'

/** Calls each deployment once, and no other after a call that may have made images already. */
const limits: RetryLimits = {
  retries: 0, backoffMs: 0, maxRetryAfterMs: 0, retryUnsure: false, hedgeAfterMs: null
}

interface CallOptions {
  reservation: RequestReservation
  /** Aborts the calls; the deadline of the request does so too. */
  signal: AbortSignal
  /** Receives every failed call, also if another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
}

/**
 * Reserves and calls, candidate by candidate, until one has made the images. Throws GatewayError,
 * UpstreamError or StoreUnavailable.
 */
export async function callImages (
  { body, requestId, payer, clientRetries, record, sandbox }: Exchange<ImageGenerationRequest>,
  plan: Plan<ImageCandidate>, { reservation, signal, onFailure }: CallOptions
): Promise<Attempt<ImageCandidate, GeneratedImages>> {
  const turns = failover<ImageCandidate>({
    plan,
    limits,
    key: payer.key,
    clientRetries,
    signal,
    record,
    deadline: { dueMs: Infinity, limitMs: Infinity },
    onFailure: (candidate, error) => onFailure(requestId, candidate, error),
    random: Math.random
  })
  const call = async (candidate: ImageCandidate, signal: AbortSignal): Promise<GeneratedImages> => {
    setCandidate(record, candidate)
    const { provider, deployment: { model }, wanted: { count, size, quality } } = candidate
    return await provider.images({ request: body, model, count, size, quality, requestId, sandbox, signal })
  }
  for await (const turn of turns) {
    const { quote } = turn.candidate
    record.heldNano = quote.maxNano
    if (!await turn.reserved(reservation.reserve(plan.model.id, quote))) continue
    const attempt = await turn.call({ call, tokensOf: () => 0 })
    if (attempt !== null) return attempt
  }
  throw new TypeError('The turns have ended without a failure.')
}
