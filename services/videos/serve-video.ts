import type { VideoSettings } from '../config/catalogue/types.ts'
import type { RequestHooks } from '../extensions/request-hooks.ts'
import type { MediaStore } from '../media/media.ts'
import type { Models } from '../models/models.ts'
import type { Catalogue } from '../requests/candidates.ts'
import type { ClientPresence, WaitingClient } from '../requests/joins/client-presence.ts'
import { LongPoll } from '../requests/long-poll.ts'
import { GatewayError } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'
import type { Store } from '../store/store.ts'
import type { FindJob } from './find-job.ts'
import type { JobSubscribers } from './job-subscribers.ts'
import type { Job } from './job.ts'
import { planVideo, type VideoExchange } from './plan-video.ts'
import { failureOf, jobHeaders, replyVideo, stillRunning } from './reply-video.ts'
import type { JobRows } from './rows.ts'
import { retryWrite } from './runner/retry-write.ts'
import { webhookField } from './webhooks/check-url.ts'

interface VideosContext {
  store: Pick<Store, 'clock'>
  models: Pick<Models, 'resolveVideos' | 'regionsOf'>
  catalogue: Catalogue
  webhookOrigins: readonly string[]
  rows: JobRows
  findJob: FindJob
  jobSubscribers: JobSubscribers
  clientPresence: ClientPresence
  media: MediaStore
  settings (): VideoSettings
  onError (error: unknown): void
  log: Log
  /** Aborted when the node gives up its jobs. */
  closing: AbortSignal
}

/** A job whose client does not wait for it. */
export interface BegunJob {
  job: Job
  headers: Record<string, string>
  /** Records whether the client has received the id. */
  responded (isReceived: boolean): Promise<void>
}

/** A job and the client that waits for it, with the part of its request that the reply needs. */
interface Waiting extends Pick<VideoExchange, 'delivery' | 'clientTimeoutMs' | 'baseUrl' | 'record' | 'signal'> {
  job: Job
  clientId: string
}

/**
 * Creates the use case: plan, find the job that the request repeats or begin one (reserve, insert), wait,
 * reply. The runner of the node that owns the job calls the provider, stores the video and settles. The
 * functions stand in the order of these steps.
 */
export function createVideos (context: VideosContext) {
  const { store, jobSubscribers, clientPresence, settings, rows, onError } = context
  const polls = new Set<LongPoll>()
  const writing = new Set<Promise<void>>()

  /** Finds or begins the job of a request, whose client then counts as one that waits. */
  async function findJob (
    received: VideoExchange, isBackground: boolean
  ): Promise<{ job: Job, clientId: string }> {
    const exchange = received.hooks == null ? received : await hookedVideo(received, received.hooks)
    const plan = planVideo(context, exchange, isBackground)
    const clientId = clientPresence.acquire()
    try {
      const job = await context.findJob(plan, clientId)
      exchange.record.job = job.id
      if (isBackground) await recordBackground(job, clientId, plan.webhookUrl)
      return { job, clientId }
    } catch (error) {
      clientPresence.release(clientId)
      throw error
    }
  }

  /** A request that joins a job may name another webhook than the one before. */
  async function recordBackground ({ id }: Job, clientId: string, webhookUrl: string | null): Promise<void> {
    if (webhookUrl !== null && !await rows.addWebhook(id, webhookUrl, store.clock())) {
      await rows.leave(id, clientId, store.clock())
      throw GatewayError.invalidValue(webhookField, 'the video has too many webhooks already')
    }
    await rows.beginBackground(id)
  }

  /** Holds the response open until the job has ended, then replies. */
  async function replyOnceEnded ({ job, clientId, ...request }: Waiting): Promise<void> {
    const { delivery, clientTimeoutMs, baseUrl, record, signal } = request
    const { id, model, createdAt } = job
    const poll = new LongPoll({
      response: delivery.longPoll(),
      headers: jobHeaders(job),
      settings: settings(),
      clientTimeoutMs,
      record,
      client: waitingClient(id, clientId),
      stillRunning: () => stillRunning(id),
      failureBody: error => failureOf({ id, model, createdAt }, error)
    })
    polls.add(poll)
    releaseAtAbort(poll, signal)
    try {
      const ended = job.finishedAt === null ? await jobSubscribers.wait(id, poll.closed) : job
      if (ended !== null) await replyVideo(ended, poll, { ...context, baseUrl, record })
      await poll.closed
    } finally {
      polls.delete(poll)
    }
  }

  function waitingClient (job: string, clientId: string): WaitingClient {
    return {
      async leave () {
        clientPresence.release(clientId)
        await write(job, () => rows.leave(job, clientId, store.clock()))
      },
      async receive () {
        await write(job, () => rows.deliver(job, clientId))
        clientPresence.release(clientId)
      }
    }
  }

  /** Retries until the database accepts it: a client that has left must not count as one that waits. */
  async function write (job: string, work: () => Promise<void>): Promise<void> {
    const written = retryWrite(context, job, work).catch(onError)
    writing.add(written)
    await written
    writing.delete(written)
  }

  return {
    /**
     * Serves `POST /v1/chat/completions` for a video model; resolves when the long poll has begun. Throws
     * GatewayError or StoreUnavailable if there is no job to wait for.
     */
    async serve (exchange: VideoExchange): Promise<void> {
      const { delivery, clientTimeoutMs, baseUrl, record, signal } = exchange
      const { job, clientId } = await findJob(exchange, false)
      // Not awaited: this call keeps the request with its pictures in memory, and the poll lasts for minutes.
      replyOnceEnded({ job, clientId, delivery, clientTimeoutMs, baseUrl, record, signal }).catch(onError)
    },
    /**
     * Finds or begins the job of a client that does not wait for it: the caller responds with it, then calls
     * `responded`. Throws as `serve`.
     */
    async begin (exchange: VideoExchange): Promise<BegunJob> {
      const { job, clientId } = await findJob(exchange, true)
      return {
        job,
        headers: jobHeaders(job),
        async responded (isReceived) {
          // Until that is recorded, the client counts as one that waits.
          await write(job.id, () => rows.endBackground(job.id, clientId, isReceived, store.clock()))
          clientPresence.release(clientId)
        }
      }
    },
    /** Ends all long polls, because the gateway stops. */
    release (): void {
      for (const poll of polls) poll.release()
    },
    /** Resolves when the deliveries are recorded in the database. */
    async idle (): Promise<void> {
      await Promise.all(writing)
    },
    get longPolls (): number { return polls.size }
  }
}

/** Ends a long poll when the gateway gives up its request; it notices itself that its client disconnects. */
function releaseAtAbort (poll: LongPoll, signal: AbortSignal): void {
  const onAbort = (): void => { if (signal.reason instanceof GatewayError) poll.release() }
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
}

/** Runs the plugins before a video is planned. Throws PluginError. */
async function hookedVideo (received: VideoExchange, hooks: RequestHooks): Promise<VideoExchange> {
  const call = await hooks.request({ kind: 'video', body: received.body })
  return 'completion' in call || call.kind !== 'video' ? received : { ...received, body: call.body }
}
