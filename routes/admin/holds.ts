import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { AdminHoldList, HoldQuery } from '../../schemas/admin/holds.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { listHolds } from '../../services/operations/admin/holds.ts'
import { toPageRequest } from './query.ts'

/** `GET /admin/holds`: what an account has set aside. */
const holds: FastifyPluginAsyncTypebox = async app => {
  app.get('/holds', {
    config: { permission: 'read', ownAccount: 'query' },
    schema: {
      summary: 'List what an account has set aside for jobs and for requests under way',
      querystring: HoldQuery,
      response: { 200: AdminHoldList, ...errorResponses }
    }
  }, async ({ query, administration }) =>
    await listHolds(administration, { account: query.account, ...toPageRequest(query) }))
}

export default holds
