import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { RoutingDecision, RoutingQuestion } from '../../schemas/openai/routing.ts'
import { leastMeans } from '../../services/billing/max-cost.ts'
import { checkChatRequest } from '../../services/chat/request-checks.ts'
import { isPolicy } from '../../services/requests/candidates.ts'
import { readRequestOptions } from '../../services/requests/request-headers.ts'
import { toDecisionResponse } from '../../services/routing/decision-response.ts'
import { GatewayError } from '../../services/shared/errors.ts'

/**
 * `POST /routing/decisions`: the decision for a chat completion with this body; calls no provider, costs
 * nothing.
 */
const routingDecisions: FastifyPluginAsyncTypebox = async app => {
  app.post('/routing/decisions', {
    config: { body: 'media' },
    schema: {
      summary: 'Explain which model would answer a request',
      description: 'Takes a chat request to `auto`; calls no provider and costs nothing.',
      body: RoutingQuestion,
      response: { 200: RoutingDecision, ...errorResponses }
    }
  }, async ({ body, apiKey, headers, jsonText }) => {
    checkChatRequest(body)
    if (!isPolicy(body.model)) {
      throw GatewayError.invalidRequest('Only requests to `auto` and other policies are routed; this one names a model.',
        { param: 'model' })
    }
    const { availableNano } = await leastMeans(app.ledger, apiKey.chainAt(app.store.clock()))
    const decision = app.router.decide({
      request: body,
      key: apiKey.id,
      mayUse: model => apiKey.mayUse(model),
      regions: apiKey.regions,
      conversation: readRequestOptions(headers).conversation,
      candidates: body.candidates ?? null,
      bodyBytes: jsonText.bytes.length,
      availableNano
    })
    return toDecisionResponse(decision, body.candidates != null)
  })
}

export default routingDecisions
