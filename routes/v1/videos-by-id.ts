import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { VideoDeleted, VideoList, VideoListQuery, VideoObject } from '../../schemas/openai/videos.ts'
import { GatewayError } from '../../services/shared/errors.ts'
import { toVideoObject } from '../../services/apis/videos/to-video-object.ts'
import { videoNotFound } from '../../services/videos/content.ts'

const params = Type.Object({ id: Type.String() })

/** `GET /videos`, `GET /videos/:id` and `DELETE /videos/:id`: the videos of the key's account. */
const videosById: FastifyPluginAsyncTypebox = async app => {
  const { library } = app.videos

  app.get('/videos', {
    schema: {
      summary: 'List videos',
      description: 'The jobs of the key\'s account.',
      querystring: VideoListQuery,
      response: { 200: VideoList, ...errorResponses }
    }
  }, async ({ query, apiKey }) => {
    const { after = null, limit = '20', order = 'desc' } = query
    const page = await library.list(apiKey.account, { after, limit: Number(limit), order })
    if (page === null) throw GatewayError.invalidValue('after', 'not the id of a video')
    const data = page.jobs.map(toVideoObject)
    const [firstId = null, lastId = null] = [data[0]?.id, data.at(-1)?.id]
    return { object: 'list' as const, data, first_id: firstId, last_id: lastId, has_more: page.hasMore }
  })

  app.get('/videos/:id', {
    schema: {
      summary: 'Show a video',
      description: 'Its status and progress; after success, how long its file is kept.',
      params,
      response: { 200: VideoObject, ...errorResponses }
    }
  }, async ({ params: { id }, apiKey }) => {
    const job = await library.get(apiKey.account, id)
    if (job === undefined) throw videoNotFound(id)
    return toVideoObject(job)
  })

  app.delete('/videos/:id', {
    schema: {
      summary: 'Delete a video',
      description: 'Deletes the file and the job; a running job is cancelled, as if no client waited for it.',
      params,
      response: { 200: VideoDeleted, ...errorResponses }
    }
  }, async ({ params: { id }, apiKey }) => {
    if (!await library.remove(apiKey.account, id)) throw videoNotFound(id)
    return { id, object: 'video.deleted' as const, deleted: true }
  })
}

export default videosById
