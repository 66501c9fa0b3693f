import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { GatewayConfig } from '../catalogue/types.ts'
import type { Download, MediaStore } from '../media/media.ts'
import type { ImageAnswer } from '../providers/provider-image.ts'
import type { Candidate, Catalogue } from '../requests/candidates.ts'
import { type Incoming } from '../requests/incoming.ts'
import type { RequestHolds } from '../requests/request-hold.ts'
import { endTrace, recordingCalls, setCandidate, type Trace, headersOf } from '../requests/trace.ts'
import { tryCandidates, type RetryLimits } from '../requests/try-candidates.ts'
import { GatewayError, type UpstreamError } from '../shared/errors.ts'
import { usdText } from '../shared/money.ts'
import { planImages, type ImageCandidate } from './image-candidates.ts'
import { imagesResponse } from './images-response.ts'
import { storeImages, type StoredImage } from './store-images.ts'

export interface IncomingImages extends Incoming<ImageGenerationRequest> {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

export type Images = ReturnType<typeof createImages>

interface ImagesOptions {
  /** The running configuration. */
  config: () => Pick<GatewayConfig, 'requests'>
  catalogue: Catalogue
  holds: RequestHolds
  media: MediaStore
  download: Download
  /** Receives images that were made but could not be stored. */
  onLost: (error: unknown) => void
  /** Receives images whose client had disconnected. */
  onLate: (trace: Trace, requestId: string) => void
  /** Receives every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
}

/** Each deployment is called once, and no second one after a call that may have made images already. */
const limits: RetryLimits = {
  retries: 0, backoffMs: 0, maxRetryAfterMs: 0, retryUnsure: false, hedgeAfterMs: null
}

/** Creates the use case: plan, hold the money, call until a candidate answers, store, settle, deliver. */
export function createImages (options: ImagesOptions) {
  const { config, catalogue, holds, media, onLate } = options
  const running = new Map<AbortController, Promise<void>>()

  async function serve (incoming: IncomingImages, signal: AbortSignal): Promise<void> {
    const { request, requestId, payer, trace, delivery } = incoming
    trace.asked = request.model
    const plan = planImages(request, incoming.mayUse, catalogue)
    trace.model = plan.model.id
    const dueMs = performance.now() + (incoming.deadlineMs ?? Infinity)
    const hold = holds(payer, requestId, { signal: incoming.signal, dueMs })
    trace.isOpen = true
    try {
      const { candidate, answer } = await tryCandidates<ImageCandidate, ImageAnswer>({
        plan,
        limits,
        key: payer.key,
        clientRetries: incoming.clientRetries,
        signal,
        trace,
        dueMs: Infinity,
        cover: ({ quote }) => {
          trace.heldNano = quote.maxNano
          return hold.cover(plan.model.id, quote)
        },
        ask: recordingCalls(trace, (candidate, signal) => {
          setCandidate(trace, candidate)
          const { provider, deployment: { model }, wanted: { count, size, quality } } = candidate
          return provider.images({ request, model, count, size, quality, requestId, signal })
        }),
        tokensOf: () => 0,
        onFailure: (candidate, error) => options.onFailure(requestId, candidate, error),
        random: Math.random
      })
      // Not stored for a client that has disconnected, which never receives the addresses.
      const isWanted = !incoming.signal.aborted
      const stored = isWanted ? await storeAll(incoming, candidate, answer, signal) : []
      const body = isWanted ? await imagesResponse(incoming, answer, stored, media) : null
      const delivered = isWanted ? stored.length : answer.images.length
      trace.images = delivered
      trace.costNano = hold.settle(
        () => candidate.quote.chargeFor({ answer, delivered }, candidate.cost), candidate.provider.id)
      if (body === null || incoming.signal.aborted) return onLate(trace, requestId)
      const headers = headersOf(trace, [...candidate.wanted.dropped, ...answer.dropped])
      delivery.json({ ...headers, 'x-tollgate-cost': usdText(trace.costNano ?? 0) }, body, null)
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      hold.end()
      endTrace(trace)
    }
  }

  async function storeAll (
    { request, payer }: IncomingImages, { provider, wanted }: ImageCandidate, { images }: ImageAnswer,
    signal: AbortSignal
  ): Promise<StoredImage[]> {
    const { size, output_format: format, output_compression: compression } = request
    return await storeImages(images, {
      ...options,
      account: payer.chain[0] ?? '',
      provider: provider.id,
      conversion: { size: size != null && size !== 'auto' ? wanted.size : null, format, compression },
      signal
    })
  }

  return {
    /**
     * Serves `POST /v1/images/generations`; throws GatewayError, UpstreamError, MediaUnavailable or
     * StoreUnavailable. If the client disconnects, the call of the provider goes on and is charged.
     */
    async generate (incoming: IncomingImages): Promise<void> {
      const controller = new AbortController()
      const stop = abortForReasons(incoming, controller, config().requests.deadlineMs)
      const work = serve(incoming, controller.signal)
      running.set(controller, work)
      try {
        await work
      } finally {
        running.delete(controller)
        stop()
      }
    },
    /** Aborts what is still being made; resolves when all of it is settled. */
    async close (): Promise<void> {
      const works = [...running.values()]
      for (const controller of running.keys()) controller.abort(GatewayError.unavailable('The gateway is shutting down.'))
      await Promise.allSettled(works)
    }
  }
}

/**
 * Aborts when the gateway shuts down or the deadline is over, but not when the client disconnects. Returns
 * what ends the watch.
 */
function abortForReasons (
  { signal, deadlineMs }: IncomingImages, controller: AbortController, maxMs: number
): () => void {
  const limitMs = Math.min(deadlineMs ?? Infinity, maxMs)
  const onAbort = (): void => { if (signal.reason instanceof GatewayError) controller.abort(signal.reason) }
  signal.addEventListener('abort', onAbort)
  const timer = setTimeout(() => controller.abort(GatewayError.deadlineExceeded(limitMs)), limitMs)
  return () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}
