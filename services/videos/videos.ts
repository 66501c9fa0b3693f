import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { VideoSettings } from '../catalogue/types.ts'
import { errorAnswer } from '../http/error-answers.ts'
import { GatewayError } from '../shared/errors.ts'
import { headerText } from '../shared/header-text.ts'
import type { MediaStore } from '../media/media.ts'
import type { ResolvedModel } from '../models/registry.ts'
import { usdText } from '../shared/money.ts'
import { planFor, type Catalogue } from '../requests/candidates.ts'
import type { Incoming } from '../requests/incoming.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import { setCandidate, type Trace } from '../requests/trace.ts'
import type { Admission, Order } from './admission.ts'
import { completionOf, errorOf } from './answer.ts'
import type { Shown } from './answer.ts'
import { bodyHashOf } from './dedupe.ts'
import { holdOpen } from './long-poll.ts'
import type { Held } from './long-poll.ts'
import type { Job } from './job.ts'
import { priceOf } from '../billing/video-price.ts'
import { readTask } from './request.ts'
import type { JobRows } from './rows.ts'
import type { Tickets } from './waiter-ids.ts'
import type { Waiters } from './waiter-registry.ts'

/** One request of one client for a video. */
export interface VideoIncoming
  extends Pick<Incoming<ChatCompletionRequest>, 'request' | 'payer' | 'mayUse' | 'trace' | 'delivery'>, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

export interface Videos {
  /** Whether an id stands for a model that makes videos. */
  makes (model: string): boolean
  /**
   * Begins to serve `POST /v1/chat/completions`; resolves when the response is held open, or answered. Throws
   * GatewayError, UpstreamError or StoreUnavailable for what is known at once.
   */
  complete (incoming: VideoIncoming): Promise<void>
  /** Lets all clients go, because the gateway stops. */
  release (): void
  /** Resolves when what became of the responses is on disk. */
  settled (): Promise<void>
  /** How many requests are held open. */
  readonly held: number
}

interface VideosContext {
  resolve (model: string): ResolvedModel[]
  catalogue: Catalogue
  rows: JobRows
  admission: Admission
  waiters: Waiters
  tickets: Tickets
  media: MediaStore
  settings (): VideoSettings
  clock: () => number
  onError (error: unknown): void
}

/**
 * The use case behind video models: find or create the job, hold the request open, answer when it has ended.
 */
export function createVideos (context: VideosContext): Videos {
  const { waiters, tickets, settings, clock, rows, onError } = context
  const open = new Set<Held>()
  const writing = new Set<Promise<void>>()

  function write (work: Promise<void>): void {
    const done = work.catch(onError).finally(() => writing.delete(done))
    writing.add(done)
  }

  function toOrder (incoming: VideoIncoming): Order {
    const { request, payer, mayUse, idempotencyKey, retryCount, baseUrl, trace } = incoming
    trace.asked = request.model
    const resolved = context.resolve(request.model).find(({ model }) => mayUse(model.id))
    if (resolved === undefined) throw GatewayError.modelNotFound(request.model)
    const { model, asked } = planFor({ kind: 'video', model: resolved.model.id, fallbacks: [], mayUse }, context.catalogue)
    setCandidate(trace, asked[0])
    const task = readTask(request, model)
    return {
      payer,
      model: model.id,
      candidates: asked.map(({ deployment: { provider, model } }) => ({ provider, model })),
      task,
      price: priceOf(model, task),
      deadlineMs: Math.max(...asked.map(({ provider }) => provider.videos.polling.deadlineMs)),
      attempt: { key: idempotencyKey, retryCount, bodyHash: bodyHashOf(model.id, task) },
      baseUrl
    }
  }

  /** Keeps nothing of the request but what is needed to answer it. */
  function wait (
    job: Job, ticket: string, { delivery, clientTimeoutMs, baseUrl, trace }: Omit<VideoIncoming, 'request'>
  ): void {
    const { id, model, createdAt } = job
    trace.job = id
    const response = delivery.longPoll()
    // It has given up while its job was looked for.
    if (response.raw.destroyed) {
      tickets.giveBack(ticket)
      return write(rows.leave(id, ticket, clock()))
    }
    const onJob = (ended: Job): void => { answer(ended, held, baseUrl, trace).catch(onError) }
    const held = holdOpen({
      response,
      job: { id, model, createdAt },
      headers: headersOf(job),
      settings: settings(),
      clientTimeoutMs,
      trace,
      onEnd (delivered) {
        open.delete(held)
        tickets.giveBack(ticket)
        const others = waiters.remove(id, onJob)
        if (delivered) write(rows.deliver(id))
        else if (!others) write(rows.leave(id, ticket, clock()))
      }
    })
    open.add(held)
    if (job.finishedAt === null) waiters.add(id, onJob)
    else onJob(job)
  }

  async function answer (job: Job, held: Held, baseUrl: string, trace: Trace): Promise<void> {
    const { provider = null, model: upstreamModel = null } = job.candidates[job.candidate] ?? {}
    // Who asks again for a video that was delivered is told its price, but it was spent before.
    Object.assign(trace, { provider, upstreamModel, costNano: job.delivered ? 0 : job.costNano })
    if (job.failure !== null) return held.fail(errorOf(job.failure, job.id))
    let shown: Shown[]
    try {
      shown = await Promise.all(job.videos.map(async video => ({ video, url: await urlOf(video, baseUrl) })))
    } catch (error) {
      return held.fail(errorAnswer(error))
    }
    held.succeed(completionOf(job, shown, settings().content), {
      ...headersOf(job), 'x-tollgate-cost': usdText(job.costNano ?? 0)
    })
  }

  async function urlOf ({ media, url }: Job['videos'][number], baseUrl: string): Promise<string> {
    const stored = media === null ? undefined : await context.media.get(media)
    if (stored !== undefined) return context.media.url(stored, baseUrl)
    if (url !== null) return url
    throw new GatewayError(410, 'invalid_request_error', 'The video has expired.', { code: 'video_expired' })
  }

  return {
    makes: model => context.resolve(model).length > 0,
    async complete (incoming) {
      const order = toOrder(incoming)
      const ticket = tickets.take()
      try {
        wait(await context.admission.admit(order, ticket), ticket, incoming)
      } catch (error) {
        tickets.giveBack(ticket)
        throw error
      }
    },
    release () {
      for (const held of open) held.release()
    },
    async settled () {
      await Promise.all(writing)
    },
    get held () { return open.size }
  }
}

function headersOf ({ id, model, candidates, candidate }: Job): Record<string, string> {
  const { provider = '', model: upstreamModel = '' } = candidates[candidate] ?? {}
  return {
    'x-tollgate-job-id': id,
    'x-tollgate-model': headerText(model),
    'x-tollgate-provider': headerText(provider),
    'x-tollgate-upstream-model': headerText(upstreamModel)
  }
}
