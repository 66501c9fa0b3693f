import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { GatewayConfig } from '../config/catalogue/types.ts'
import type { CopyFault } from '../media/copy-fault.ts'
import type { Download, MediaStore } from '../media/media.ts'
import type { GeneratedImages } from '../providers/provider-image.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import { bodyHashOf } from '../requests/joins/joinable.ts'
import type { Candidate, Catalogue, Plan } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import { startLongPoll } from '../requests/long-poll.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import type { RequestReservations } from '../requests/request-reservation.ts'
import { endRecord, headersOf, recordEnding, type RequestRecord } from '../requests/request-record.ts'
import { headerText } from '../shared/shown-text.ts'
import { GatewayError, type UpstreamError } from '../shared/errors.ts'
import { usdText } from '../shared/money.ts'
import type { Made } from './generation-rows.ts'
import type { GenerationSteps, Generations } from './generations.ts'
import { callImages } from './call-images.ts'
import { planImages, type ImageCandidate } from './plan-images.ts'
import { imagesResponse } from './reply-images.ts'
import { storeImages, type StoredImage } from './store-images.ts'

export interface ImageExchange extends Exchange<ImageGenerationRequest>, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

export type Images = ReturnType<typeof createImages>

interface ImagesOptions {
  /** The running configuration. */
  config: () => Pick<GatewayConfig, 'requests' | 'video'>
  catalogue: Catalogue
  holds: RequestReservations
  media: MediaStore
  download: Download
  generations: Generations
  /** Receives images that were made but could not be stored. */
  onLost: (error: unknown) => void
  /** Receives each attempt to store an image that failed and is repeated, and the last one. */
  onCopyFailure: (fault: CopyFault, error: unknown) => void
  /** Receives images whose client had disconnected. */
  onLate: (record: RequestRecord, requestId: string) => void
  /** Receives every call that failed, also when another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
}

/**
 * Creates the use case: plan, find what the request repeats or begin a generation, wait for it, deliver. A
 * generation holds the money, calls until a candidate answers, stores, settles.
 */
export function createImages (options: ImagesOptions) {
  const { config, catalogue, holds, media, generations, onLate } = options
  const running = new Map<AbortController, Promise<void>>()
  let closed = false

  async function make (
    exchange: ImageExchange, plan: Plan<ImageCandidate>, signal: AbortSignal,
    steps: GenerationSteps
  ): Promise<Made> {
    const { requestId, payer, record } = exchange
    const dueMs = performance.now() + (exchange.deadlineMs ?? Infinity)
    const hold = holds(payer, requestId, { signal: exchange.signal, dueMs, fresh: false })
    try {
      const { onFailure } = options
      const { candidate, response } = await callImages(exchange, plan, { hold, signal, onFailure })
      const lost = (error: unknown): never => {
        const all = { answer: response, delivered: response.images.length }
        hold.suspend(() => candidate.quote.chargeFor(all, candidate.cost), candidate.provider.id)
        throw error
      }
      const stored = await storeAll(exchange, candidate, response, signal).catch(lost)
      record.images = stored.length
      const charge = candidate.quote.chargeFor({ answer: response, delivered: stored.length }, candidate.cost)
      if (charge.amountNano > candidate.quote.maxNano) candidate.health.exceeded.output = true
      const costNano = Math.min(charge.amountNano, record.heldNano ?? 0)
      const dropped = [...candidate.wanted.dropped, ...response.dropped]
      const booking = hold.booking(charge, candidate.provider.id)
      const made = madeOf(record, response, stored, { costNano, dropped, booking })
      // First, so that a retry finds what was charged.
      await unlessAborted(steps.record(made), signal).catch(lost)
      const settled = await hold.settle(() => charge, candidate.provider.id)
      record.costNano = settled.costNano
      // Images cost so much more than a write that a kill must not give them away.
      await unlessAborted(steps.charge(hold.written()), signal)
      if (exchange.signal.aborted) onLate(record, requestId)
      return made
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    } finally {
      hold.release()
    }
  }

  /** The images of a request: of the generation that it joins, or of its own. */
  async function obtain (
    exchange: ImageExchange, plan: Plan<ImageCandidate>, waiting: Waiting, signal: AbortSignal
  ): Promise<Made> {
    const { body, payer, idempotencyKey: key, retryCount, record } = exchange
    const identity = { key, retryCount, bodyHash: bodyHashOf(plan.model.id, body) }
    const order = { apiKey: payer.key, identity, signal: exchange.signal }
    const isOver = AbortSignal.any([signal, exchange.signal])
    for (;;) {
      const found = await generations.find(order, waiting.clientId)
      waiting.work = found.id
      // The client disconnected while its generation was looked up.
      if (exchange.signal.aborted) generations.leave(waiting.clientId)
      if (found.isNew) return await generations.run(found.id, steps => make(exchange, plan, signal, steps))
      const made = await unlessAborted(generations.wait(found.id, isOver), isOver)
      if (made === null) continue
      // It was charged to the request that began it.
      const { model, provider, upstreamModel } = made
      Object.assign(record, { model, provider, upstreamModel, costNano: 0 })
      return made
    }
  }

  /** Waits with a long poll. Throws what the response can still tell by its status. */
  async function serve (exchange: ImageExchange, signal: AbortSignal): Promise<void> {
    const { body, record, delivery } = exchange
    record.requestedModel = body.model
    const plan = planImages(body, exchange.mayUse, catalogue)
    record.model = plan.model.id
    const waiting: Waiting = { clientId: generations.clientPresence.acquire(), work: null }
    const held = startLongPoll({
      response: delivery.longPoll(),
      headers: { 'x-tollgate-model': headerText(plan.model.id) },
      settings: config().video,
      clientTimeoutMs: exchange.clientTimeoutMs,
      record,
      stillRunning,
      failureBody: error => ({ created: Math.floor(Date.now() / 1000), data: [], ...error.toBody() }),
      onLeave: () => generations.leave(waiting.clientId),
      onEnd (delivered) {
        if (delivered && waiting.work !== null) generations.deliver(waiting.work, waiting.clientId)
        else generations.leave(waiting.clientId)
      }
    })
    try {
      const made = await obtain(exchange, plan, waiting, signal)
      const response = await imagesResponse(exchange, made.answer, await storedOf(made), media)
      held.succeed(response, { ...made.headers, 'x-tollgate-cost': usdText(made.costNano) })
    } catch (error) {
      const reason: unknown = signal.aborted ? signal.reason : error
      // It got no images, whatever becomes of them.
      waiting.work = null
      if (held.drop()) throw reason
      const gatewayError = toGatewayError(reason)
      recordEnding(record, reason, gatewayError.code)
      held.fail(gatewayError)
    }
  }

  async function storedOf ({ images }: Made): Promise<StoredImage[]> {
    return await Promise.all(images.map(async ({ media: id, revisedPrompt }) => {
      const stored = await media.get(id)
      if (stored !== undefined) return { media: stored, revisedPrompt }
      throw new GatewayError(410, 'invalid_request_error', 'The images have expired.', { code: 'images_expired' })
    }))
  }

  async function storeAll (
    { body, payer }: ImageExchange, { provider, wanted }: ImageCandidate, { images }: GeneratedImages,
    signal: AbortSignal
  ): Promise<StoredImage[]> {
    const { size, output_format: format, output_compression: compression } = body
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
     * StoreUnavailable. If the client disconnects, the call of the provider goes on and is charged, and its
     * images are kept for the next such request.
     */
    async generate (exchange: ImageExchange): Promise<void> {
      // Its charge could not be written any more.
      if (closed) throw shuttingDown()
      const { record } = exchange
      // From the beginning: the client may leave before the images are begun.
      record.isOpen = true
      const controller = new AbortController()
      const stop = abortForReasons(exchange, controller, config().requests.deadlineMs)
      const work = serve(exchange, controller.signal)
      running.set(controller, work)
      try {
        await work
      } finally {
        running.delete(controller)
        stop()
        endRecord(record)
      }
    },
    /** Aborts what is still being made; resolves when all of it is settled. */
    async close (): Promise<void> {
      closed = true
      const works = [...running.values()]
      for (const controller of running.keys()) controller.abort(shuttingDown())
      await Promise.allSettled([...works, generations.close()])
    }
  }
}

/** The client of a request, and the generation that it waits for once that is known. */
interface Waiting { clientId: string, work: string | null }

/** 504: the client is about to give up. OpenAI's SDKs retry at once, and join the generation. */
function stillRunning (): GatewayError {
  return GatewayError.badGateway(
    'The images are not ready yet. Send the same request again to keep waiting.', { status: 504, code: 'still_running', headers: { 'x-should-retry': 'true', 'retry-after-ms': '200' } })
}

function shuttingDown (): GatewayError {
  return GatewayError.unavailable('The gateway is shutting down.')
}

function madeOf (
  record: RequestRecord, { chosen, usage }: GeneratedImages, stored: readonly StoredImage[],
  { dropped, ...more }: Pick<Made, 'costNano' | 'booking'> & { dropped: readonly string[] }
): Made {
  const { model, provider, upstreamModel } = record
  const images = stored.map(({ media: { id }, revisedPrompt }) => ({ media: id, revisedPrompt }))
  const headers = headersOf(record, dropped)
  return { model, provider, upstreamModel, ...more, images, headers, answer: { chosen, usage } }
}

/** Resolves like `work`, or rejects with the reason of `signal` as soon as that aborts; `work` goes on. */
async function unlessAborted<Result> (work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  // Its rejection is handled even if it comes after the abort. Node.js ends a process for an unhandled one.
  work.catch(() => {})
  if (signal.aborted) throw signal.reason
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Aborts when the gateway shuts down or the deadline is over, but not when the client disconnects. Returns
 * what ends the watch.
 */
function abortForReasons (
  { signal, deadlineMs }: ImageExchange, controller: AbortController, maxMs: number
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
