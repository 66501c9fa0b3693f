import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'
import fp from 'fastify-plugin'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { Timing } from '../../services/videos/runner/runner-context.ts'
import { createVideoService, type VideoService } from '../../services/videos/create.ts'
import { resolveVideos } from '../../services/videos/video-models.ts'
import type { HeldResponse } from '../../services/videos/long-poll.ts'
import { countJobs, showJobs } from '../../services/observability/metrics/gateway.ts'
import { readRetryOptions } from '../../services/requests/request-headers.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The use case of video models, and the jobs of this node. */
    videos: VideoService
  }

  interface FastifyReply {
    /** Answers a request for a video with the validated `body`, which is dropped once its job is known. */
    serveVideo (body: ChatCompletionRequest): Promise<void>
  }
}

interface VideosOptions { releaseMs: number, timing?: Partial<Timing> }

/** Offers `app.videos`; when the server closes, held requests are let go after `releaseMs`. */
export default fp<VideosOptions>(async (app, { releaseMs, timing = {} }) => {
  const { store, ledger, media, download, models, providers, log } = app
  app.decorate('videos', await createVideoService({
    store,
    ledger,
    media,
    download,
    log,
    timing,
    onEnd: countJobs(app.metrics),
    resolve: id => resolveVideos(id, models),
    provider: providers.get,
    settings: () => models.config().video
  }))
  showJobs(app.metrics, store)
  app.decorateReply('serveVideo', async function (body) {
    const { request, raw } = this
    const { apiKey, trace, headers } = request
    raw.once('close', app.load.admit('polls'))
    const payer = { key: apiKey.id, chain: apiKey.chainAt(Date.now()) }
    const mayUse = (model: string): boolean => apiKey.mayUse(model)
    await app.videos.complete({
      ...readRetryOptions(headers),
      request: body,
      payer,
      mayUse,
      trace,
      baseUrl: request.baseUrl(),
      response: heldOf(this)
    })
    // A held request lives for minutes, and its pictures may be megabytes.
    Object.assign(request, { body: null, jsonText: null })
  })
  let timer: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => { timer = setTimeout(() => app.videos.release(), releaseMs) })
  app.addHook('onClose', async () => {
    clearTimeout(timer)
    await app.videos.close()
  })
}, {
  name: 'videos',
  dependencies: [
    'store', 'models', 'providers', 'ledger', 'media', 'metrics', 'auth', 'base-url', 'trace',
    'json-body', 'overload'
  ]
})

function heldOf (reply: FastifyReply): HeldResponse {
  return {
    raw: reply.raw,
    send: (headers, body) => { reply.headers(headers).type('application/json; charset=utf-8').send(body) },
    fail: error => { reply.send(error) },
    commit (headers) {
      reply.hijack()
      reply.raw.writeHead(200, { ...reply.getHeaders(), ...headers } as OutgoingHttpHeaders)
    },
    serialize: body => reply.serialize(body).toString()
  }
}
