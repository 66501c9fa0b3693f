import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../schemas/openai/chat-completions.ts'
import { errorResponses } from '../../schemas/openai/error.ts'
import { VideoObject } from '../../schemas/openai/videos.ts'
import { chatApi } from '../../services/chat/openai-apis.ts'
import { checkChatRequest } from '../../services/chat/request-checks.ts'
import { prefersAsync } from '../../services/requests/request-headers.ts'
import { noJobForWebhook } from '../../services/videos/webhooks/check-url.ts'
import { toVideoObject } from '../../services/apis/videos/to-video-object.ts'

/** `POST /chat/completions`: one response, or an event stream of chunks if `stream` is true. */
const chatCompletions: FastifyPluginAsyncTypebox = async app => {
  app.post('/chat/completions', {
    config: {
      passThrough: true,
      body: 'media',
      countsTokens: true,
      startsJobs: true,
      operation: { name: 'chat', output: null },
      events: ChatCompletionChunk
    },
    schema: {
      summary: 'Create a chat completion',
      description: 'Any chat or video model, or `auto`, which chooses one. The cost is held before the provider is ' +
        'called and charged by its usage. With `stream`, server-sent events end with `data: [DONE]`. A ' +
        'video model returns its URL, or 202 and a job after `Prefer: respond-async`.',
      body: ChatCompletionRequest,
      response: { 200: ChatCompletion, 202: VideoObject, ...errorResponses }
    }
  }, (request, reply) => {
    checkChatRequest(request.body)
    if (app.models.resolveVideos(request.body.model).length > 0) return makeVideo(request, reply)
    if (request.body.webhook_url !== undefined) throw noJobForWebhook()
    return app.chat.complete(reply.exchange(), chatApi)
  })
}

interface ChatRoute { Body: ChatCompletionRequest }

/** Generates a video: as a job if the client prefers that, else the response waits for it. */
async function makeVideo (
  request: FastifyRequest<ChatRoute>, reply: FastifyReply<ChatRoute>
): Promise<VideoObject | void> {
  if (prefersAsync(request.headers)) {
    const job = await reply.beginVideo(request.body)
    const location = `${request.baseUrl()}/videos/${job.id}`
    reply.code(202).headers({ location, 'preference-applied': 'respond-async' })
    return toVideoObject(job)
  }
  await reply.serveVideo(reply.exchange())
  // The response is still open; without this wait, Fastify would send an empty one.
  await reply
}

export default chatCompletions
