import type { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import type { GatewayConfig } from '../config/catalogue/types.ts'
import type { RequestHooks } from '../extensions/request-hooks.ts'
import type { MediaStore } from '../media/media.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import { bodyHashOf } from '../requests/joins/joinable.ts'
import type { Candidate, Catalogue, Plan } from '../requests/candidates.ts'
import type { Exchange } from '../requests/exchange.ts'
import { LongPoll } from '../requests/long-poll.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import type { RequestReservations } from '../requests/request-reservation.ts'
import { endRecord, recordEnding, type RequestRecord } from '../requests/request-record.ts'
import { headerText } from '../shared/shown-text.ts'
import { JsonText } from '../shared/json.ts'
import type { UpstreamError } from '../shared/errors.ts'
import type { BegunGeneration } from './begun-generation.ts'
import { callImages } from './call-images.ts'
import type { Made } from './generation.ts'
import type { Generations, ImagesClient } from './generations.ts'
import { keepImages } from './keep-images.ts'
import { planImages, type ImageCandidate } from './plan-images.ts'
import { GatewayError } from '../shared/errors.ts'
import { failureBody, imagesResponse, notReady, replyHeaders } from './reply-images.ts'
import type { StoreImagesOptions } from './store-images.ts'
import { unlessAborted, WorkLimit } from './work-limit.ts'

export interface ImageExchange extends Exchange<ImageGenerationRequest>, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

export type Images = ReturnType<typeof createImages>

interface ImagesOptions extends Pick<StoreImagesOptions, 'download' | 'onLost' | 'onCopyFailure'> {
  /** The running configuration. */
  config: () => Pick<GatewayConfig, 'requests' | 'video'>
  catalogue: Catalogue
  openReservation: RequestReservations
  media: MediaStore
  generations: Generations
  /** Receives images whose client had disconnected. */
  onLate: (record: RequestRecord, requestId: string) => void
  /** Receives every failed call, also if another one then succeeds. */
  onFailure: (requestId: string, candidate: Candidate, error: UpstreamError) => void
}

/**
 * Creates the use case: plan, join a generation or begin one, reply. A begun generation reserves, calls until
 * a candidate has made the images, stores them, settles. The functions stand in the order of these steps.
 */
export function createImages (options: ImagesOptions) {
  const { config, catalogue, openReservation, media, generations, onFailure, onLate } = options
  const running = new Map<WorkLimit, Promise<void>>()
  let isClosed = false

  /** Throws the errors that the response can still show by its status. */
  async function serve (received: ImageExchange, limit: AbortSignal): Promise<void> {
    const exchange = received.hooks == null ? received : await hookedImages(received, received.hooks)
    const { body, record, delivery, clientTimeoutMs } = exchange
    record.requestedModel = body.model
    const plan = planImages(exchange, catalogue)
    record.model = plan.model.id
    const client = generations.enter()
    const poll = new LongPoll({
      response: delivery.longPoll(),
      headers: { 'x-tollgate-model': headerText(plan.model.id) },
      settings: config().video,
      clientTimeoutMs,
      record,
      client,
      stillRunning: notReady,
      failureBody
    })
    try {
      const made = await joinOrMake(exchange, plan, client, limit)
      poll.succeed(await imagesResponse(exchange, made, media), replyHeaders(made))
    } catch (error) {
      const reason: unknown = limit.aborted ? limit.reason : error
      if (poll.drop()) throw reason
      const gatewayError = toGatewayError(reason)
      recordEnding(record, reason, gatewayError.code)
      poll.giveUp(gatewayError)
    }
  }

  /** Joins the generation that the request repeats, or makes the images; again if their node is lost. */
  async function joinOrMake (
    exchange: ImageExchange, plan: Plan<ImageCandidate>, client: ImagesClient, limit: AbortSignal
  ): Promise<Made> {
    const { body, payer, idempotencyKey: key, retryCount, record, signal } = exchange
    const identity = { key, retryCount, bodyHash: bodyHashOf(plan.model.id, body) }
    const isOver = AbortSignal.any([limit, signal])
    for (;;) {
      const { id, begun } = await generations.find({ apiKey: payer.key, identity, signal }, client)
      // The client disconnected while its generation was looked up.
      if (signal.aborted) client.leave()
      if (begun !== null) return await make(exchange, plan, begun, limit)
      const made = await unlessAborted(generations.wait(id, isOver), isOver)
      if (made === null) continue
      // It was charged to the request that began it.
      const { model, provider, upstreamModel } = made
      Object.assign(record, { model, provider, upstreamModel, costNano: 0 })
      return made
    }
  }

  /** Reserves, calls, stores and settles; goes on if the client disconnects. */
  async function make (
    exchange: ImageExchange, plan: Plan<ImageCandidate>, generation: BegunGeneration, limit: AbortSignal
  ): Promise<Made> {
    const { requestId, payer, record, signal, deadlineMs } = exchange
    const dueMs = performance.now() + (deadlineMs ?? Infinity)
    const reservation = openReservation(payer, requestId, { signal, dueMs, fresh: false })
    try {
      const attempt = await callImages(exchange, plan, { reservation, signal: limit, onFailure })
      const keeping = { ...options, reservation, generation, limit }
      const { made, charge } = await keepImages(exchange, attempt, keeping)
      const settled = await reservation.settle(() => charge, attempt.candidate.provider.id)
      record.costNano = settled.costNano
      // Images cost so much more than a write that a kill must not give them away.
      await unlessAborted(generation.settle(reservation.written()), limit)
      if (signal.aborted) onLate(record, requestId)
      return made
    } catch (error) {
      const reason: unknown = limit.aborted ? limit.reason : error
      // First: clients that begin again need the money.
      reservation.release()
      await generation.fail(reason)
      throw reason
    }
  }

  return {
    /**
     * Serves `POST /v1/images/generations`; throws GatewayError, UpstreamError, MediaUnavailable or
     * StoreUnavailable. If the client disconnects, the call of the provider goes on and is charged, and its
     * images are kept for the next such request.
     */
    async serve (exchange: ImageExchange): Promise<void> {
      // Its charge could not be written any more.
      if (isClosed) throw GatewayError.shuttingDown()
      const { record } = exchange
      // From the beginning: the client may leave before the images are begun.
      record.isOpen = true
      const limit = new WorkLimit(exchange, config().requests.deadlineMs)
      const work = serve(exchange, limit.signal)
      running.set(limit, work)
      try {
        await work
      } finally {
        running.delete(limit)
        limit.stop()
        endRecord(record)
      }
    },
    /** Aborts the work for all requests; resolves when all of it is settled. */
    async close (): Promise<void> {
      isClosed = true
      const works = [...running.values()]
      for (const limit of running.keys()) limit.abort(GatewayError.shuttingDown())
      await Promise.allSettled([...works, generations.close()])
    }
  }
}

/** Runs the plugins before images are planned. Throws PluginError. */
async function hookedImages (received: ImageExchange, hooks: RequestHooks): Promise<ImageExchange> {
  const { body } = received
  const call = await hooks.request({ kind: 'image', body })
  if ('completion' in call || call.kind !== 'image' || call.body === body) return received
  return { ...received, body: call.body, rawBody: JsonText.from(call.body) }
}
