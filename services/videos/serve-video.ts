import type { VideoSettings } from '../config/catalogue/types.ts'
import { toGatewayError } from '../http/to-gateway-error.ts'
import { GatewayError } from '../shared/errors.ts'
import type { MediaStore } from '../media/media.ts'
import type { Log } from '../shared/log.ts'
import { usdText } from '../shared/money.ts'
import type { Catalogue } from '../requests/candidates.ts'
import type { RequestRecord } from '../requests/request-record.ts'
import type { FindJob } from './find-job.ts'
import { completionOf, errorOf, failureOf, jobHeaders, stillRunning, type Shown } from './reply-video.ts'
import { videoExpired } from './content.ts'
import { startLongPoll, type LongPoll } from '../requests/long-poll.ts'
import { retryWrite } from './runner/retry-write.ts'
import type { Job } from './job.ts'
import { planVideo, type VideoExchange } from './plan-video.ts'
import type { JobRows } from './rows.ts'
import type { Models } from '../models/models.ts'
import type { Store } from '../store/store.ts'
import type { ClientPresence } from '../requests/joins/client-presence.ts'
import { webhookField } from './webhooks/check-url.ts'
import type { JobSubscribers } from './job-subscribers.ts'

interface VideosContext {
  store: Pick<Store, 'clock'>
  models: Pick<Models, 'resolveVideos'>
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
  /** Records whether the client was told the id. */
  answered (wasTold: boolean): void
}

/**
 * Creates the use case behind video models: find or create the job, start a long poll, answer when the job
 * has ended.
 */
export function createVideos (context: VideosContext) {
  const { store, jobSubscribers, clientPresence, settings, rows, onError } = context
  const open = new Set<LongPoll>()
  const writing = new Set<Promise<void>>()

  /** Retries until the database accepts it: a client that has left must not count as one that waits. */
  function write (id: string, work: () => Promise<void>): Promise<void> {
    const done = retryWrite(context, id, work).catch(onError).finally(() => writing.delete(done))
    writing.add(done)
    return done
  }

  /** A request that joins a job may name another server than the one before. */
  async function addWebhook ({ id }: Job, url: string | null, clientId: string): Promise<void> {
    if (url === null || await rows.addWebhook(id, url, store.clock())) return
    await rows.leave(id, clientId, store.clock())
    throw GatewayError.invalidValue(webhookField, 'the video has too many webhooks already')
  }

  /** References nothing of the request but what is needed to answer it. */
  function wait (
    job: Job, clientId: string, { delivery, clientTimeoutMs, baseUrl, record, signal }: Omit<VideoExchange, 'request'>
  ): void {
    const { id, model, createdAt } = job
    record.job = id
    const response = delivery.longPoll()
    const leave = (): Promise<void> => {
      clientPresence.release(clientId)
      return write(id, () => rows.leave(id, clientId, store.clock()))
    }
    // The client disconnected while its job was looked up.
    if (response.raw.destroyed) {
      leave()
      return
    }
    const onJob = (ended: Job): void => { respond(ended, held, baseUrl, record).catch(onError) }
    const held = startLongPoll({
      response,
      headers: jobHeaders(job),
      settings: settings(),
      clientTimeoutMs,
      record,
      stillRunning: () => stillRunning(id),
      failureBody: error => failureOf({ id, model, createdAt }, error),
      onLeave: leave,
      onEnd (delivered) {
        open.delete(held)
        jobSubscribers.remove(id, onJob)
        if (!delivered) leave()
        // Until that is recorded, the client counts as one that waits.
        else write(id, () => rows.deliver(id, clientId)).finally(() => clientPresence.release(clientId))
      }
    })
    open.add(held)
    releaseAtAbort(held, signal)
    if (job.finishedAt === null) jobSubscribers.add(id, onJob)
    else onJob(job)
  }

  async function respond (job: Job, held: LongPoll, baseUrl: string, record: RequestRecord): Promise<void> {
    const { provider = null, model: upstreamModel = null } = job.candidates[job.candidate] ?? {}
    // A repeated request reports the original price; it is not charged again.
    Object.assign(record, { provider, upstreamModel, costNano: job.delivered ? 0 : job.costNano })
    if (job.failure !== null) return held.fail(errorOf(job.failure, job.id))
    let shown: Shown[]
    try {
      shown = await Promise.all(job.videos.map(async video => ({ video, url: await urlOf(video, baseUrl) })))
    } catch (error) {
      return held.fail(toGatewayError(error))
    }
    held.succeed(completionOf(job, shown, settings().content), {
      ...jobHeaders(job), 'x-tollgate-cost': usdText(job.costNano ?? 0)
    })
  }

  async function urlOf ({ media, url }: Job['videos'][number], baseUrl: string): Promise<string> {
    const stored = media === null ? undefined : await context.media.get(media)
    if (stored !== undefined) return context.media.url(stored, baseUrl)
    if (url !== null) return url
    throw videoExpired()
  }

  return {
    /**
     * Serves `POST /v1/chat/completions` for a video model; resolves when the long poll has begun or the
     * answer was sent. Throws GatewayError or StoreUnavailable for what is known at once.
     */
    async complete (exchange: VideoExchange): Promise<void> {
      const order = planVideo(context, exchange, false)
      const clientId = clientPresence.acquire()
      try {
        wait(await context.findJob(order, clientId), clientId, exchange)
      } catch (error) {
        clientPresence.release(clientId)
        throw error
      }
    },
    /**
     * Finds or creates the job of a client that does not wait for it: the caller answers with it, and says
     * then whether that arrived. Throws as `complete`.
     */
    async begin (exchange: VideoExchange): Promise<BegunJob> {
      const order = planVideo(context, exchange, true)
      const clientId = clientPresence.acquire()
      try {
        const job = await context.findJob(order, clientId)
        exchange.record.job = job.id
        await addWebhook(job, order.webhookUrl, clientId)
        await rows.telling(job.id)
        return {
          job,
          headers: jobHeaders(job),
          answered (wasTold) {
            // Until that is recorded, the client counts as one that waits.
            write(job.id, () => rows.told(job.id, clientId, wasTold, store.clock()))
              .finally(() => clientPresence.release(clientId))
          }
        }
      } catch (error) {
        clientPresence.release(clientId)
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
