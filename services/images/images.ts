import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { Catalogue } from '../requests/candidates.ts'
import { headersOf } from '../requests/response-headers.ts'
import type { Deployments } from '../deployments/deployments.ts'
import { GatewayError } from '../shared/errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Download, MediaStore } from '../media/media.ts'
import { usdText } from '../shared/money.ts'
import type { Trace } from '../requests/trace.ts'
import { answerBody } from './answer.ts'
import { planFor, type Candidate } from './candidates.ts'
import { openCharge } from '../billing/image-charge.ts'
import { keepImages, type KeepOptions } from './keep.ts'
import { makeAtFirst } from './make.ts'
import type { Incoming } from '../requests/incoming.ts'

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
  /** Hear how calls went, and tell whom to leave alone. */
  deployments: Pick<Deployments, 'of'>
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
  const { catalogue, deployments, media, download, onError, onLate } = options
  const running = new Map<AbortController, Promise<void>>()

  async function serve (incoming: IncomingImages, signal: AbortSignal): Promise<void> {
    const { request, requestId, payer, trace, baseUrl, delivery } = incoming
    trace.asked = request.model
    const { model, candidates } = planFor(request, incoming.mayUse, catalogue)
    trace.model = model.id
    const holdNano = Math.max(...candidates.map(({ quote }) => quote.holdNano))
    const charge = await openCharge({ payer, requestId, model: model.id, holdNano }, options)
    try {
      const order = { request, requestId, signal, trace, deployments }
      const { candidate, answer } = await makeAtFirst(candidates, order)
      // Nobody will fetch what is made for a client that has left.
      const isWanted = !incoming.signal.aborted
      const kept = isWanted ? await keepImages(answer.images, keepOptions(incoming, candidate, signal)) : []
      const body = isWanted ? await answerBody({ request, answer, kept, media, baseUrl }) : null
      const due = candidate.quote.bill(answer, isWanted ? kept.length : answer.images.length)
      // Booked before it is sent: whoever has read the answer finds it in the balance.
      charge.settle(due)
      trace.costNano = due.amountNano
      trace.images = due.usage.images ?? 0
      if (body === null || incoming.signal.aborted) return onLate(trace, requestId)
      const dropped = namesOf([...candidate.wanted.dropped, ...answer.dropped])
      delivery.json({ ...headersOf(trace, dropped), 'x-tollgate-cost': usdText(due.amountNano) }, body, null)
    } finally {
      // Changes nothing where it has been settled.
      charge.cancel()
    }
  }

  function keepOptions (
    { request, payer }: IncomingImages, { provider, wanted }: Candidate, signal: AbortSignal
  ): KeepOptions {
    const { size, output_format: format, output_compression: compression } = request
    const isAsked = size != null && size !== 'auto'
    const account = payer.chain[0] ?? ''
    const exactly = { size: isAsked ? wanted.size : null, format, compression }
    return { media, download, account, provider, ...exactly, signal, onLost: onError }
  }

  return {
    async generate (incoming) {
      const giveUp = new AbortController()
      const stop = followReasons(incoming, giveUp)
      const work = serve(incoming, giveUp.signal)
      running.set(giveUp, work)
      try {
        await work
      } finally {
        running.delete(giveUp)
        stop()
      }
    },
    async close () {
      const works = [...running.values()]
      for (const giveUp of running.keys()) giveUp.abort(GatewayError.unavailable('The gateway is shutting down.'))
      await Promise.allSettled(works)
    }
  }
}

/**
 * Gives up for a reason: the gateway shuts down, or the time is up that the client would wait. That a client
 * has left is none. Returns what ends the watch.
 */
function followReasons (
  { signal, deadlineMs, giveUp }: IncomingImages, controller: AbortController
): () => void {
  const onAbort = (): void => { if (signal.reason instanceof GatewayError) controller.abort(signal.reason) }
  signal.addEventListener('abort', onAbort)
  const timer = deadlineMs === null
    ? undefined
    : setTimeout(() => giveUp(GatewayError.deadlineExceeded(deadlineMs)), deadlineMs)
  return () => {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

/** Names of fields as a header may carry them: clients can send any text as one. */
function namesOf (dropped: readonly string[]): string[] {
  return [...new Set(dropped)].filter(name => /^[\w.-]{1,64}$/.test(name)).slice(0, mostNames)
}

const mostNames = 32
