import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { messagesErrorResponses } from '../../schemas/anthropic/error.ts'
import { CountTokensRequest, TokenCount } from '../../schemas/anthropic/messages.ts'
import { clientLeft, whenClosed } from '../../services/requests/attempt.ts'
import { countPromptTokens } from '../../services/apis/messages/count-message-tokens.ts'

/** `POST /messages/count_tokens`: the tokens of a prompt, free of charge. */
const messagesCountTokens: FastifyPluginAsyncTypebox = async app => {
  app.post('/messages/count_tokens', {
    config: { body: 'media', errorShape: 'messages' },
    schema: {
      summary: 'Count the tokens of a prompt (Anthropic\'s API)',
      description: 'Counted by the provider where it can, else estimated. Costs nothing.',
      security: [{ key: [] }, { apiKey: [] }],
      body: CountTokensRequest,
      response: { 200: TokenCount, ...messagesErrorResponses }
    }
  }, async ({ body, jsonText, headers, apiKey, record }, reply) => {
    record.requestedModel = body.model
    const left = new AbortController()
    whenClosed(reply.raw, () => left.abort(clientLeft()))
    const mayUse = (model: string): boolean => apiKey.mayUse(model)
    const { regions } = apiKey
    const question = { request: body, original: jsonText, headers, mayUse, regions, signal: left.signal }
    return { input_tokens: await countPromptTokens(question, app.requests.catalogue) }
  })
}

export default messagesCountTokens
