import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AdminMediaList, MediaQuery } from '../../schemas/admin/media.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listMedia } from '../../services/operations/admin/media.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/media`: the stored images and videos. */
const media: FastifyPluginAsyncTypebox = async app => {
  app.get('/media', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'List images and videos, newest first',
      querystring: MediaQuery,
      response: { 200: AdminMediaList, ...errorResponses }
    }
  }, async request => {
    const { account, kind } = request.query
    const base = request.baseUrl()
    const page = { ...toPageRequest(request.query), account, kind }
    return await listMedia(app.store, row => app.media.url(row, base), page)
  })
}

export default media
