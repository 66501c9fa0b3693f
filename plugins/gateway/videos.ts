import { setImmediate as turn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Timing } from '../../services/videos/runner/runner-context.ts'
import type { Job } from '../../services/videos/job.ts'
import type { VideoExchange } from '../../services/videos/plan-video.ts'
import { settledJob } from '../../services/videos/settled-job.ts'
import { createVideoService, type VideoService } from '../../services/videos/create-service.ts'
import { countJobs, showJobs } from '../../services/operations/observability/metrics/gateway.ts'
import { whenClosed } from '../../services/requests/attempt.ts'
import type { Exchange } from '../../services/requests/exchange.ts'
import { readRetryOptions } from '../../services/requests/request-headers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case of video models, and the jobs of this node. */
    videos: VideoService
  }

  interface FastifyReply {
    /** Serves a validated request for a video by a long poll. */
    serveVideo (exchange: Exchange<ChatCompletionRequest>): Promise<void>
    /** Finds or begins the job for such a body, for an immediate response. */
    beginVideo (body: ChatCompletionRequest): Promise<Job>
  }
}

const largeBytes = 1024 ** 2

interface VideosOptions {
  timing?: Partial<Timing>
  /** Servers of clients' webhooks that may be private or plain HTTP. */
  webhookOrigins: readonly string[]
}

/** Offers `app.videos`; while the server closes, jobs are left to other nodes, and long polls go on. */
export default fp<VideosOptions>(async (app, { timing = {}, webhookOrigins }) => {
  const { store, secretBox, ledger, media, download, models, log } = app
  const { catalogue, onReportedCost } = app.requests
  const countEnded = countJobs(app.metrics)
  app.decorate('videos', await createVideoService({
    store,
    secretBox,
    ledger,
    media,
    download,
    log,
    timing,
    webhookOrigins,
    onEnd (job) {
      countEnded(job)
      app.extensions?.jobSettled(settledJob(job))
    },
    onCopyFailure: fault => app.countCopyFailure({ kind: 'video', fault }),
    models,
    catalogue,
    onReportedCost,
    settings: () => models.config().video
  }))
  showJobs(app.metrics, store)
  const { webhookCounts } = app.videos
  app.metrics.counter({ name: 'webhook_attempts_total', help: 'Attempts to deliver a webhook of a video.', labels: ['outcome'] }, () => {
    const { delivered, failed, givenUp } = webhookCounts
    return Object.entries({ delivered, failed, given_up: givenUp })
      .map(([outcome, value]) => ({ labels: { outcome }, value }))
  })
  app.decorateReply('serveVideo', async function (exchange) {
    const { request, raw } = this
    whenClosed(raw, app.load.admit('polls', request.keyLoad))
    await app.videos.serve(await videoExchange(request, exchange))
    forgetBody(request)
  })
  app.decorateReply('beginVideo', async function (body) {
    const { request, raw } = this
    const exchange = { ...this.exchange(), body }
    const { job, headers, responded } = await app.videos.begin(await videoExchange(request, exchange))
    whenClosed(raw, () => responded(raw.writableFinished && raw.statusCode < 300))
    this.headers(headers)
    forgetBody(request)
    return job
  })
  app.addHook('preClose', async () => app.videos.drain())
  app.addHook('onClose', async () => { await app.videos.close() })
}, {
  name: 'videos',
  dependencies: [
    'store', 'secrets', 'models', 'providers', 'ledger', 'media', 'metrics', 'base-url', 'json-body', 'overload', 'requests',
    'exchange', 'extensions'
  ]
})

async function videoExchange (
  request: FastifyRequest, exchange: Exchange<ChatCompletionRequest>
): Promise<VideoExchange> {
  // Parsing has taken long: read and hash the pictures in another turn of the event loop.
  if (request.bodyBytes > largeBytes) await turn()
  return { ...exchange, ...readRetryOptions(request.headers), baseUrl: request.baseUrl() }
}

/** The pictures in a body may be megabytes, and a long poll lasts for minutes. */
function forgetBody (request: FastifyRequest): void {
  Object.assign(request, { body: null, jsonText: null })
  request.giveBytes()
}
