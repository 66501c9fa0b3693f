import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, statusOf, strict, text, type FakeVideoApi } from './fake-api.ts'

/** Together's `/v2/videos`: npm together-ai 0.52. */
export const together: FakeVideoApi = {
  protocol: 'together',
  base: '/v2',
  apiKey: 'tg-secret',
  model: 'google/veo-3.0',
  isAuthorized: bearerIs('tg-secret'),
  submit: {
    path: /^\/videos$/,
    schema: strict({
      model: text(),
      prompt: text(),
      seconds: optional(Type.String({ pattern: '^\\d+$' })),
      width: optional(integer()),
      height: optional(integer()),
      ratio: optional(text()),
      seed: optional(integer()),
      generate_audio: optional(Type.Boolean()),
      media: optional(strict({
        frame_images: Type.Array(strict({ input_image: imageUrlOrData(), frame: oneOf('first', 'last') }), { minItems: 1 })
      }))
    })
  },
  submitResponse: ({ id }) => ({ body: { id, object: 'video', status: 'in_progress', seconds: '8', size: '1280x720' } }),
  poll: /^\/videos\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      object: 'video',
      model: 'google/veo-3.0',
      created_at: 1_790_000_000,
      status: state === 'running' ? 'in_progress' : state === 'succeeded' ? 'completed' : 'failed',
      seconds: '8',
      size: '1280x720',
      ...(state === 'succeeded' && { outputs: { cost: 3.2, video_url: video } }),
      ...(state === 'failed' && { error: { message: 'It broke.', code: 'internal_error' } }),
      ...(state === 'moderated' && { error: { message: 'Output was flagged by content moderation.' } })
    }
  }),
  errorResponse: (why, message) => ({
    status: why === 'moderated' ? 422 : statusOf[why],
    body: { error: { message, type: why === 'moderated' ? 'content_policy_violation' : `${why}_error`, code: null } }
  }),
  priced: { seconds: 'seconds', resolution: 'width*height', audio: 'generate_audio' },
  states: ['running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'any', last: true },
  expected: { seconds: 8, costNano: 3_200_000_000, progress: null }
}
