import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { RoutingDecision, RoutingQuestion } from '../../schemas/openai/routing.ts'
import { readRequestOptions } from '../../services/requests/request-headers.ts'
import { decisionAnswer } from '../../services/routing/decision-response.ts'

/**
 * `POST /routing/decisions`: what a chat completion with this body would do; no call is made, nothing is
 * charged.
 */
const routingDecisions: FastifyPluginAsyncTypebox = async app => {
  app.post('/routing/decisions', {
    schema: {
      summary: 'Show which model a request would go to, and why',
      body: RoutingQuestion,
      response: { 200: RoutingDecision, ...errorResponses }
    }
  }, async ({ body, apiKey, headers }) => decisionAnswer(app.router.decide({
    request: body,
    key: apiKey.id,
    mayUse: model => apiKey.mayUse(model),
    conversation: readRequestOptions(headers).conversation ?? body.prompt_cache_key ?? null,
    candidates: body.candidates ?? null,
    availableNano: null
  })))
}

export default routingDecisions
