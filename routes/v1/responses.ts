import { Type, type FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { ResponseObject, ResponseRequest, ResponseStreamEvent } from '../../schemas/openai/responses.ts'
import { methodNotSupported } from '../../services/http/to-gateway-error.ts'
import { GatewayError } from '../../services/shared/errors.ts'

/**
 * `POST /responses`: one response, or a stream of its events if `stream` is true. `GET` rejects clients that
 * try a WebSocket first; they then use HTTP.
 */
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
      description: 'OpenAI\'s Responses API on every chat model. A field that cannot be honoured returns a 400 ' +
        'that names it.',
      body: ResponseRequest,
      response: { 200: ResponseObject, ...errorResponses }
    }
  }, async (request, reply) => {
    const isVideo = app.models.resolveVideos(request.body.model).length > 0
    await app.responses.create(reply.exchange(), isVideo ? chat => reply.serveVideo(chat) : null)
    return reply
  })

  app.get('/responses', {
    schema: { hide: true, querystring: Type.Object({}), response: errorResponses }
  }, async ({ headers }) => {
    if (headers.upgrade === undefined) throw methodNotSupported('GET', '/v1/responses', ['POST'])
    throw new GatewayError(426, 'invalid_request_error', 'WebSockets are not served here; send a POST.',
      { code: 'upgrade_required', headers: { upgrade: 'HTTP/1.1' } })
  })
}

export default responses
