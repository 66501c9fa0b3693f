import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { EntryList, EntryQuery } from '../../schemas/admin/entries.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { entriesCsv, listEntries } from '../../services/operations/admin/entries.ts'
import { Csv, toCsvBody, wantsCsv } from '../csv.ts'
import { refusePaging, toPageRequest, toPeriod } from './query.ts'

const formats = { 'application/json': { schema: EntryList }, 'text/csv': { schema: Csv } }

/** `GET /admin/entries`, newest first; JSON, or CSV if `format` or `Accept` selects it. */
const entries: FastifyPluginAsyncTypebox = async app => {
  app.get('/entries', {
    config: { permission: 'read', ownAccount: 'query', passThrough: true },
    schema: {
      summary: 'List the lines of the books',
      querystring: EntryQuery,
      response: { 200: { description: 'One page as JSON, or all rows as CSV', content: formats }, ...errorResponses }
    }
  }, async ({ query, headers, administration }, reply) => {
    const { account, kind, month } = query
    const request = { ...toPeriod(query), account, kind, month }
    if (!wantsCsv(query.format, headers.accept)) {
      return await listEntries(administration, { ...request, ...toPageRequest(query) })
    }
    refusePaging(query)
    return await toCsvBody(reply, 'entries', entriesCsv(administration, request))
  })
}

export default entries
