import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { errorResponses } from '../../schemas/openai/error.ts'
import { ImageGenerationRequest, ImagesResponse } from '../../schemas/openai/images-generations.ts'
import { readRetryOptions } from '../../services/requests/request-headers.ts'

/** `POST /images/generations`: one to ten images, as URLs that need no key or as base64. */
const imagesGenerations: FastifyPluginAsyncTypebox = async app => {
  app.post('/images/generations', {
    // The limit of tokens per minute does not count images, although they have a prompt.
    config: { body: 'text', operation: { name: 'generate_content', output: 'image' } },
    schema: {
      summary: 'Create images',
      description: 'Images as signed URLs or base64. Each is stored until it is delivered, so a repeated request ' +
        'is not charged again.',
      body: ImageGenerationRequest,
      response: { 200: ImagesResponse, ...errorResponses }
    }
  }, async (request, reply) => {
    const options = readRetryOptions(request.headers)
    await app.images.serve({ ...reply.exchange(), ...options, baseUrl: request.baseUrl() })
    return reply
  })
}

export default imagesGenerations
