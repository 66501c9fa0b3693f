import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { RequestTotalsList, RequestTotalsQuery } from '../../schemas/admin/requests.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listRequests, toRequestDimensions } from '../../services/admin/requests.ts'
import { toPageRequest, toPeriod } from './query.ts'

/** `GET /admin/requests`: how requests went, summed up out of the request log. */
const requests: FastifyPluginAsyncTypebox = async app => {
  app.get('/requests', {
    config: { permission: 'read' },
    schema: {
      summary: 'Sum up latencies, errors, tokens and cost by key, model and day',
      querystring: RequestTotalsQuery,
      response: { 200: RequestTotalsList, ...errorResponses }
    }
  }, async ({ query }) => {
    const { account, key, model } = query
    await app.flushRequestLog()
    const filter = { by: toRequestDimensions(query.by), ...toPeriod(query), account, key, model }
    return await listRequests(app.store, { ...filter, ...toPageRequest(query) })
  })
}

export default requests
