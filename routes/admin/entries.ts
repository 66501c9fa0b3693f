import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { EntryList, EntryQuery } from '../../schemas/admin/entries.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listEntries } from '../../services/admin/entries.ts'
import { toPageRequest, toPeriod } from './query.ts'

/** `GET /admin/entries`: the lines of the books, newest first. */
const entries: FastifyPluginAsyncTypebox = async app => {
  app.get('/entries', {
    schema: {
      summary: 'List the lines of the books',
      querystring: EntryQuery,
      response: { 200: EntryList, ...errorResponses }
    }
  }, async ({ query }) => {
    const { account, kind } = query
    const request = { ...toPageRequest(query), ...toPeriod(query), account, kind }
    return await listEntries(app.administration, request)
  })
}

export default entries
