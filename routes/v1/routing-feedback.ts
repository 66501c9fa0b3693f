import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { RoutingFeedback, RoutingFeedbackStored } from '../../schemas/openai/routing.ts'

/**
 * `POST /routing/feedback`: stores the score of an answer to a routed request; training on scores is a
 * command.
 */
const routingFeedback: FastifyPluginAsyncTypebox = async app => {
  app.post('/routing/feedback', {
    schema: {
      summary: 'Score the answer to a routed request',
      description: '`auto` learns from scores of the key\'s own requests; a later score replaces the earlier. A score ' +
        'counts as a request of the key.',
      body: RoutingFeedback,
      response: { 200: RoutingFeedbackStored, ...errorResponses }
    }
  }, async ({ body: { id, score }, apiKey }) => {
    await app.routingFeedback.storeScore(id, apiKey.id, score)
    return { object: 'routing.feedback' as const, id, score }
  })
}

export default routingFeedback
