import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { VideoCreateRequest, VideoForm, VideoObject } from '../../schemas/openai/videos.ts'
import { videoFormToJson } from '../../services/apis/videos/form.ts'
import { inVideoFields, videoToChat } from '../../services/apis/videos/to-chat-request.ts'
import { toVideoObject } from '../../services/apis/videos/to-video-object.ts'

/** `POST /videos`: starts a video and responds at once. */
const createVideo: FastifyPluginAsyncTypebox = async app => {
  app.takeForms(app, videoFormToJson)

  app.post('/videos', {
    // The limit of tokens per minute does not count videos.
    config: { body: 'media', form: VideoForm, startsJobs: true, operation: { name: 'generate_content', output: 'video' } },
    schema: {
      summary: 'Start a video',
      description: 'Returns a job at once, in OpenAI\'s form. Its price is held until the job ends and charged if ' +
        'it succeeds. In a form, pictures can be files.',
      body: VideoCreateRequest,
      response: { 200: VideoObject, ...errorResponses }
    }
  }, async (request, reply) => {
    try {
      return toVideoObject(await reply.beginVideo(videoToChat(request.body)))
    } catch (error) {
      throw inVideoFields(error)
    }
  })
}

export default createVideo
