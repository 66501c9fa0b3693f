import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Completion, CompletionRequest } from '../../schemas/openai/completions.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { completionsApi } from '../../services/chat/openai-apis.ts'
import { checkCompletionRequest } from '../../services/chat/request-checks.ts'

/** `POST /completions`, the legacy endpoint: one response, or an event stream if `stream` is true. */
const completions: FastifyPluginAsyncTypebox = async app => {
  app.post('/completions', {
    config: {
      passThrough: true,
      body: 'text',
      countsTokens: true,
      operation: { name: 'text_completion', output: 'text' },
      events: Completion
    },
    schema: {
      summary: 'Complete a text (legacy)',
      description: 'One prompt, as text or tokens, for the same models as chat completions.',
      body: CompletionRequest,
      response: { 200: Completion, ...errorResponses }
    }
  }, async (request, reply) => {
    checkCompletionRequest(request.body)
    await app.chat.complete(reply.exchange(), completionsApi)
  })
}

export default completions
