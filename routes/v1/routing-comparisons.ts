import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { RoutingComparison, RoutingComparisonQuestion } from '../../schemas/openai/routing.ts'
import { leastMeans } from '../../services/billing/max-cost.ts'
import { checkChatRequest } from '../../services/chat/request-checks.ts'
import { comparePolicies } from '../../services/routing/compare-policies.ts'

/** `POST /routing/comparisons`: the decision of every policy, among the models that the key may use. */
const routingComparisons: FastifyPluginAsyncTypebox = async app => {
  app.post('/routing/comparisons', {
    config: { body: 'media' },
    schema: {
      summary: 'Compare the decisions of all policies for a request',
      description: 'Takes a chat request without a model; calls no provider and costs nothing.',
      body: RoutingComparisonQuestion,
      response: { 200: RoutingComparison, ...errorResponses }
    }
  }, async ({ body, apiKey, jsonText }) => {
    checkChatRequest({ ...body, model: 'auto' })
    const { availableNano } = await leastMeans(app.ledger, apiKey.chainAt(app.store.clock()))
    return comparePolicies(app.router, body, {
      key: apiKey.id, mayUse: model => apiKey.mayUse(model), bodyBytes: jsonText.bytes.length, availableNano
    })
  })
}

export default routingComparisons
