import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { RoutingComparison, RoutingComparisonQuestion } from '../../schemas/openai/routing.ts'
import { checkChatRequest } from '../../services/chat/request-checks.ts'
import { comparePolicies } from '../../services/routing/compare-policies.ts'

/** `POST /admin/routing/comparisons`: the same as under `/v1`, among all models. */
const routing: FastifyPluginAsyncTypebox = async app => {
  app.post('/routing/comparisons', {
    config: { permission: 'read', body: 'media' },
    schema: {
      summary: 'Compare the decisions of all policies for a request, among all models',
      body: RoutingComparisonQuestion,
      response: { 200: RoutingComparison, ...errorResponses }
    }
  }, async ({ body, actor }) => {
    checkChatRequest({ ...body, model: 'auto' })
    return comparePolicies(app.router, body, { key: actor.id, mayUse: () => true, availableNano: null })
  })
}

export default routing
