import type { ImageGenerationRequest } from '../../schemas/images-generations.ts'
import type { Catalogue } from '../chat/candidates.ts'
import type { Incoming } from '../chat/chat.ts'
import { GatewayError } from '../errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Download, MediaStore } from '../media/media.ts'
import { usdText } from '../money.ts'
import type { ImageAnswer } from '../providers/image-maker.ts'
import type { Trace } from '../trace.ts'
import { answerBody } from './answer.ts'
import { candidatesFor, mayTryElsewhere, type Candidate } from './candidates.ts'
import { openCharge } from './charge.ts'
import { checkRequest, type Wanted } from './check.ts'
import { keepImages, type KeepOptions } from './keep.ts'
import { quote } from './quote.ts'

export interface IncomingImages extends Incoming<ImageGenerationRequest> {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

export interface Images {
  /**
   * Serves `POST /v1/images/generations`; throws GatewayError, UpstreamError, MediaUnavailable or
   * StoreUnavailable. A client that leaves does not stop what a provider has been asked: it is made, and
   * charged, all the same.
   */
  generate (incoming: IncomingImages): Promise<void>
  /** Gives up what is still being made; resolves when all of it is settled. */
  close (): Promise<void>
}

interface ImagesOptions {
  catalogue: Catalogue
  ledger: Ledger
  media: MediaStore
  download: Download
  /** Unique ids for holds. */
  newId: () => string
  /** Hears of bookings that failed, and of images that were made but could not be kept. */
  onError: (error: unknown) => void
  /** Hears of images for a client that had left. */
  onLate: (trace: Trace, requestId: string) => void
}

/** The use case behind images: resolve the model, check, price, hold, make, keep, settle, answer. */
export function createImages (options: ImagesOptions): Images {
  const { catalogue, media, download, onError, onLate } = options
  const running = new Map<AbortController, Promise<void>>()

  async function serve (incoming: IncomingImages, signal: AbortSignal): Promise<void> {
    const { request, requestId, payer, trace, baseUrl, delivery } = incoming
    trace.asked = request.model
    const { model, candidates } = candidatesFor(request.model, incoming.mayUse, catalogue)
    trace.model = model.id
    const wanted = checkRequest(request, model)
    const { holdNano, bill } = quote({ model, wanted, prompt: request.prompt })
    const charge = await openCharge({ payer, requestId, model: model.id, holdNano }, options)
    try {
      const answer = await makeAtFirst(candidates, { request, wanted, requestId, signal, trace })
      // Nobody will fetch what is made for a client that has left.
      const isWanted = !incoming.signal.aborted
      const kept = isWanted ? await keepImages(answer.images, keepOptions(incoming, wanted, signal)) : []
      const body = isWanted ? await answerBody({ request, answer, kept, media, baseUrl }) : null
      const due = bill(answer, isWanted ? kept.length : answer.images.length)
      // Booked before it is sent: whoever has read the answer finds it in the balance.
      charge.settle(due)
      trace.costNano = due.amountNano
      trace.images = due.usage.images ?? 0
      if (body === null || incoming.signal.aborted) return onLate(trace, requestId)
      delivery.json(headersOf(trace, [...wanted.dropped, ...answer.dropped]), body, null)
    } finally {
      // Changes nothing where it has been settled.
      charge.cancel()
    }
  }

  function keepOptions (
    { request, payer, trace }: IncomingImages, { size }: Wanted, signal: AbortSignal
  ): KeepOptions {
    const { output_format: format, output_compression: compression } = request
    return {
      media,
      download,
      account: payer.chain[0] ?? '',
      provider: trace.provider ?? '',
      size: request.size == null || request.size === 'auto' ? null : size,
      format,
      compression,
      signal,
      onLost: onError
    }
  }

  return {
    async generate (incoming) {
      const giveUp = new AbortController()
      const { signal } = incoming
      // A client that has left is no reason to give up; a gateway that shuts down says so.
      const onAbort = (): void => { if (signal.reason instanceof GatewayError) giveUp.abort(signal.reason) }
      signal.addEventListener('abort', onAbort)
      const work = serve(incoming, giveUp.signal)
      running.set(giveUp, work)
      try {
        await work
      } finally {
        running.delete(giveUp)
        signal.removeEventListener('abort', onAbort)
      }
    },
    async close () {
      const works = [...running.values()]
      for (const giveUp of running.keys()) giveUp.abort(GatewayError.unavailable('The gateway is shutting down.'))
      await Promise.allSettled(works)
    }
  }
}

interface Order {
  request: ImageGenerationRequest
  wanted: Wanted
  requestId: string
  signal: AbortSignal
  trace: Trace
}

/** Makes the images at the first candidate that can. Throws what the last one tried has thrown. */
async function makeAtFirst (
  candidates: readonly Candidate[], { request, wanted, requestId, signal, trace }: Order
): Promise<ImageAnswer> {
  let failure: unknown
  for (const { provider, upstreamModel, make } of candidates) {
    trace.provider = provider
    trace.upstreamModel = upstreamModel
    const { count, size, quality } = wanted
    try {
      return await make({ request, model: upstreamModel, count, size, quality, requestId, signal })
    } catch (error) {
      failure = error
      if (signal.aborted || !mayTryElsewhere(error)) break
    }
  }
  throw signal.aborted ? signal.reason : failure
}

/** What was decided and what it cost, for the client to see. */
function headersOf (trace: Trace, dropped: readonly string[]): Record<string, string> {
  const unique = [...new Set(dropped)]
  return {
    'x-tollgate-model': headerText(trace.model),
    'x-tollgate-provider': headerText(trace.provider),
    'x-tollgate-upstream-model': headerText(trace.upstreamModel),
    'x-tollgate-cost': usdText(trace.costNano ?? 0),
    ...(unique.length === 0 ? {} : { 'x-tollgate-dropped-params': headerText(unique.join(', ')) })
  }
}

/** Names of models and fields may be any text; a header may not. */
function headerText (value: string | null): string {
  return (value ?? '').replace(/[^\x20-\x7e]/g, encodeURIComponent)
}
