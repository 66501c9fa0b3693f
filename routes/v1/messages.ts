import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { messagesErrorResponses } from '../../schemas/anthropic/error.ts'
import { CreatedMessage, CreateMessageRequest, MessageEvent } from '../../schemas/anthropic/messages.ts'
import { refuseNativeNeeds } from '../../services/apis/messages/native.ts'
import { toChatCall } from '../../services/apis/messages/serve-message.ts'
import { withVideoForm } from '../../services/apis/translated.ts'

/** `POST /messages`: one message, or its events if `stream` is true. */
const messages: FastifyPluginAsyncTypebox = async app => {
  app.post('/messages', {
    config: {
      passThrough: true,
      body: 'media',
      countsTokens: true,
      errorShape: 'messages',
      operation: { name: 'chat', output: null },
      events: MessageEvent
    },
    schema: {
      summary: 'Create a message (Anthropic\'s API)',
      description: 'Anthropic\'s Messages API on every chat model; errors have Anthropic\'s shape. With `stream`, ' +
        'server-sent events end with `message_stop`.',
      security: [{ key: [] }, { apiKey: [] }],
      body: CreateMessageRequest,
      response: { 200: CreatedMessage, ...messagesErrorResponses }
    }
  }, async (request, reply) => {
    const { exchange, api, translator } = await toChatCall(reply.exchange(), request.headers)
    const isVideo = app.models.resolveVideos(request.body.model).length > 0
    if (isVideo) refuseNativeNeeds(request.body)
    if (isVideo) await reply.serveVideo(withVideoForm(exchange, translator))
    else await app.chat.complete(exchange, api)
    return reply
  })
}

export default messages
