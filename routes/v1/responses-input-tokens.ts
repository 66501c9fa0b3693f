import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { InputTokenCount, InputTokensRequest } from '../../schemas/openai/responses.ts'

/** `POST /responses/input_tokens`: the tokens of a request's input, estimated, free of charge. */
const responsesInputTokens: FastifyPluginAsyncTypebox = async app => {
  app.post('/responses/input_tokens', {
    config: { body: 'media' },
    schema: {
      summary: 'Estimate the tokens of a response\'s input',
      description: 'Takes the body of `POST /v1/responses`; calls no provider and costs nothing.',
      body: InputTokensRequest,
      response: { 200: InputTokenCount, ...errorResponses }
    }
  }, async ({ body, apiKey, record }) => {
    record.requestedModel = body.model ?? null
    const count = await app.responses.countInput(body, apiKey)
    return { object: 'response.input_tokens' as const, input_tokens: count }
  })
}

export default responsesInputTokens
