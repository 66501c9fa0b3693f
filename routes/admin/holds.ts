import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AdminHoldList, HoldQuery } from '../../schemas/admin/holds.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listHolds } from '../../services/operations/admin/holds.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/holds`: the holds of an account. */
const holds: FastifyPluginAsyncTypebox = async app => {
  app.get('/holds', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'List the holds of an account for jobs and running requests',
      querystring: HoldQuery,
      response: { 200: AdminHoldList, ...errorResponses }
    }
  }, async ({ query, administration }) =>
    await listHolds(administration, { account: query.account, ...toPageRequest(query) }))
}

export default holds
