import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { ResponseObject, ResponseRequest, ResponseStreamEvent } from '../../schemas/openai/responses.ts'

/** `POST /responses`: one response, or a stream of its events when `stream` is true. */
const responses: FastifyPluginAsyncTypebox = async app => {
  app.post('/responses', {
    config: {
      passThrough: true,
      body: 'media',
      countsTokens: true,
      operation: { name: 'chat', output: null },
      events: ResponseStreamEvent
    },
    schema: {
      summary: 'Create a response',
      body: ResponseRequest,
      response: { 200: ResponseObject, ...errorResponses }
    }
  }, async (_request, reply) => await app.responses.create(reply.incoming()))
}

export default responses
