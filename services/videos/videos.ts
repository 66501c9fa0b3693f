import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { VideoSettings } from '../catalogue/types.ts'
import { errorAnswer } from '../http/error-answers.ts'
import { GatewayError } from '../shared/errors.ts'
import type { MediaStore } from '../media/media.ts'
import type { Log } from '../shared/log.ts'
import { usdText } from '../shared/money.ts'
import { headerText } from '../shared/shown-text.ts'
import { planFor, type Candidate, type Catalogue } from '../requests/candidates.ts'
import type { Incoming } from '../requests/incoming.ts'
import type { RetryOptions } from '../requests/request-headers.ts'
import { setCandidate, type Trace } from '../requests/trace.ts'
import type { FindJob, VideoOrder } from './find-job.ts'
import { completionOf, errorOf, failureOf, stillRunning, type Shown } from './answer.ts'
import { bodyHashOf } from '../joins/joinable.ts'
import { startLongPoll, type LongPoll } from '../requests/long-poll.ts'
import { retryWrite } from './runner/retry-write.ts'
import type { Job, JobCandidate } from './job.ts'
import { priceOf } from '../billing/video-price.ts'
import { makeChoices } from './choices.ts'
import { readWish } from './request.ts'
import type { JobRows } from './rows.ts'
import type { Models } from '../models/models.ts'
import type { Store } from '../store/store.ts'
import type { WaitingClients } from '../joins/waiting-clients.ts'
import type { WaiterRegistry } from './waiter-registry.ts'

export interface VideoIncoming
  extends Pick<Incoming<ChatCompletionRequest>, 'request' | 'payer' | 'mayUse' | 'trace' | 'delivery' | 'signal'>, RetryOptions {
  /** Where the client reaches the API, e.g. `https://gateway.example.com/v1`. */
  baseUrl: string
}

interface VideosContext {
  store: Pick<Store, 'clock'>
  models: Pick<Models, 'resolveVideos'>
  catalogue: Catalogue
  rows: JobRows
  findJob: FindJob
  registry: WaiterRegistry
  waiters: WaitingClients
  media: MediaStore
  settings (): VideoSettings
  onError (error: unknown): void
  log: Log
  /** Aborted when the node gives up its jobs. */
  closing: AbortSignal
}

/**
 * Creates the use case behind video models: find or create the job, start a long poll, answer when the job
 * has ended.
 */
export function createVideos (context: VideosContext) {
  const { store, registry, waiters, settings, rows, onError } = context
  const open = new Set<LongPoll>()
  const writing = new Set<Promise<void>>()

  /** Retries until the database accepts it: a client that has left must not count as one that waits. */
  function write (id: string, work: () => Promise<void>): Promise<void> {
    const done = retryWrite(context, id, work).catch(onError).finally(() => writing.delete(done))
    writing.add(done)
    return done
  }

  function toOrder (incoming: VideoIncoming): VideoOrder {
    const { request, payer, mayUse, idempotencyKey, retryCount, baseUrl, trace, signal } = incoming
    trace.asked = request.model
    const resolved = context.models.resolveVideos(request.model).find(({ model }) => mayUse(model.id))
    if (resolved === undefined) throw GatewayError.modelNotFound(request.model)
    const { model, asked } = planFor({ kind: 'video', model: resolved.model.id, fallbacks: [], mayUse }, context.catalogue)
    const { task, able } = makeChoices(readWish(request, model), model, asked)
    setCandidate(trace, able[0])
    return {
      payer,
      model: model.id,
      candidates: able.map(toJobCandidate),
      task,
      price: priceOf(model, task),
      deadlineMs: Math.max(...able.map(({ provider }) => provider.videos.polling.deadlineMs)),
      identity: { key: idempotencyKey, retryCount, bodyHash: bodyHashOf(model.id, task) },
      baseUrl,
      signal
    }
  }

  /** References nothing of the request but what is needed to answer it. */
  function wait (
    job: Job, waiterId: string, { delivery, clientTimeoutMs, baseUrl, trace, signal }: Omit<VideoIncoming, 'request'>
  ): void {
    const { id, model, createdAt } = job
    trace.job = id
    const response = delivery.longPoll()
    const leave = (): Promise<void> => {
      waiters.release(waiterId)
      return write(id, () => rows.leave(id, waiterId, store.clock()))
    }
    // The client disconnected while its job was looked up.
    if (response.raw.destroyed) {
      leave()
      return
    }
    const onJob = (ended: Job): void => { answer(ended, held, baseUrl, trace).catch(onError) }
    const held = startLongPoll({
      response,
      headers: headersOf(job),
      settings: settings(),
      clientTimeoutMs,
      trace,
      stillRunning: () => stillRunning(id),
      failureBody: error => failureOf({ id, model, createdAt }, error),
      onLeave: leave,
      onEnd (delivered) {
        open.delete(held)
        registry.remove(id, onJob)
        if (!delivered) leave()
        // Until that is recorded, the client counts as one that waits.
        else write(id, () => rows.deliver(id, waiterId)).finally(() => waiters.release(waiterId))
      }
    })
    open.add(held)
    releaseAtAbort(held, signal)
    if (job.finishedAt === null) registry.add(id, onJob)
    else onJob(job)
  }

  async function answer (job: Job, held: LongPoll, baseUrl: string, trace: Trace): Promise<void> {
    const { provider = null, model: upstreamModel = null } = job.candidates[job.candidate] ?? {}
    // A repeated request reports the original price; it is not charged again.
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
    /**
     * Serves `POST /v1/chat/completions` for a video model; resolves when the long poll has begun or the
     * answer was sent. Throws GatewayError or StoreUnavailable for what is known at once.
     */
    async complete (incoming: VideoIncoming): Promise<void> {
      const order = toOrder(incoming)
      const waiterId = waiters.acquire()
      try {
        wait(await context.findJob(order, waiterId), waiterId, incoming)
      } catch (error) {
        waiters.release(waiterId)
        throw error
      }
    },
    /** Ends all long polls, because the gateway stops. */
    release (): void {
      for (const held of open) held.release()
    },
    /** Resolves when the deliveries are recorded in the database. */
    async idle (): Promise<void> {
      await Promise.all(writing)
    },
    get longPolls (): number { return open.size }
  }
}

/** The gateway says why it gives up. A client that disconnects is noticed by its connection. */
function releaseAtAbort (held: LongPoll, signal: AbortSignal): void {
  const onAbort = (): void => { if (signal.reason instanceof GatewayError) held.release() }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
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

function toJobCandidate ({ deployment: { provider, model }, cost }: Candidate): JobCandidate {
  return { provider, model, ...(cost?.secondNano != null && { costNano: cost.secondNano }) }
}
