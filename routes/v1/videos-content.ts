import type { Readable } from 'node:stream'
import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { openFile } from '../../services/media/open-file.ts'
import { mediaResponse } from '../../services/media/response.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { videoExpired, videoNotFound, videoOf } from '../../services/videos/content.ts'

const bytes = { schema: Type.Unsafe<Readable>({ type: 'string', format: 'binary' }) }

const response = {
  '2xx': { description: 'The video, or a range of it.', content: { 'video/*': bytes } },
  302: Type.Unsafe<undefined>({ type: 'null', description: 'Redirect to the provider: the video could not be copied.' }),
  304: Type.Unsafe<undefined>({ type: 'null', description: 'The cached copy of the client is current.' }),
  ...errorResponses
}

/** `GET /videos/:id/content`: the bytes of a completed video. */
const videoContent: FastifyPluginAsyncTypebox = async app => {
  const { videos: { library }, media, store } = app

  app.get('/videos/:id/content', {
    exposeHeadRoute: false,
    config: { passThrough: true },
    schema: {
      summary: 'Download a video',
      description: 'The file of a finished job. Ranges are honoured.',
      params: Type.Object({ id: Type.String() }),
      querystring: Type.Object({
        variant: Type.Optional(Type.String({ description: 'Only `video`: there are no thumbnails or spritesheets.' }))
      }, { additionalProperties: false }),
      response
    }
  }, async ({ params: { id }, query: { variant = 'video' }, apiKey, headers, log }, reply) => {
    if (variant !== 'video') throw GatewayError.invalidValue('variant', 'only `video` is stored')
    const job = await library.get(apiKey.account, id)
    if (job === undefined) throw videoNotFound(id)
    const { media: stored, url } = videoOf(job)
    if (stored === null && url !== null) return reply.redirect(url, 302)
    const found = stored === null ? undefined : await media.get(stored)
    if (found === undefined) throw videoExpired()
    const result = mediaResponse(found, headers, store.clock())
    // The key decides who may fetch it, so no shared cache may keep it.
    const cacheControl = String(result.headers['cache-control']).replace('public', 'private')
    reply.code(result.status).headers({ ...result.headers, 'cache-control': cacheControl })
    if (result.status === 304) return reply.send(undefined)
    reply.raw.once('close', () => {
      if (result.status !== 200 || !reply.raw.writableFinished) return
      library.received(id).catch(err => log.warn({ err }, 'the delivery of a video could not be recorded'))
    })
    return reply.send(await openFile({ media, log }, found, result.range))
  })
}

export default videoContent
