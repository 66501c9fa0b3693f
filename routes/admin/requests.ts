import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import {
  LoggedRequestList, LoggedRequestQuery, RequestTotalsList, RequestTotalsQuery, RequestWithEntriesList
} from '../../schemas/admin/requests.ts'
import { ById, Closed, Paging } from '../../schemas/admin/shared.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { getRequests, listRequests, listRequestTotals, toRequestDimensions } from '../../services/operations/admin/requests.ts'
import { toPageRequest, toPeriod } from './query.ts'

/** The request log: `GET /admin/requests`, `GET /admin/requests/:id` and `GET /admin/request-totals`. */
const requests: FastifyPluginAsyncTypebox = async app => {
  app.get('/requests', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'List requests, newest first',
      querystring: LoggedRequestQuery,
      response: { 200: LoggedRequestList, ...errorResponses }
    }
  }, async ({ query, administration }) => {
    const { account, key, model, provider, failed_at: failedAt, status, outcome } = query
    await app.flushRequestLog()
    const filter = { ...toPeriod(query), account, key, model, provider, failedAt, status, outcome }
    return await listRequests(administration, { ...filter, ...toPageRequest(query) })
  })

  app.get('/requests/:id', {
    config: { permission: 'read', ownAccount: 'handler' },
    schema: {
      summary: 'Show the requests with this x-request-id and their ledger entries',
      params: ById,
      querystring: Closed(Paging),
      response: { 200: RequestWithEntriesList, ...errorResponses }
    }
  }, async ({ params, query, administration }) => {
    await app.flushRequestLog()
    return await getRequests(administration, params.id, toPageRequest(query))
  })

  app.get('/request-totals', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'Total latencies, errors, tokens and cost by key, model and day',
      querystring: RequestTotalsQuery,
      response: { 200: RequestTotalsList, ...errorResponses }
    }
  }, async ({ query }) => {
    const { account, key, model } = query
    await app.flushRequestLog()
    const filter = { by: toRequestDimensions(query.by), ...toPeriod(query), account, key, model }
    return await listRequestTotals(app.store, { ...filter, ...toPageRequest(query) })
  })
}

export default requests
