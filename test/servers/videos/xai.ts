import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, statusOf, strict, text, type FakeVideoApi } from './fake-api.ts'

/** xAI's videos: npm @ai-sdk/xai 5. A job that is not done is 202, without a body or with one. */
export const xai: FakeVideoApi = {
  protocol: 'xai',
  base: '/v1',
  apiKey: 'xai-secret',
  model: 'grok-imagine-video',
  isAuthorized: bearerIs('xai-secret'),
  submit: {
    path: /^\/videos\/generations$/,
    schema: strict({
      model: text(),
      prompt: text(),
      duration: optional(integer()),
      aspect_ratio: optional(oneOf('16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3')),
      resolution: optional(oneOf('480p', '720p', '1080p')),
      generate_audio: optional(Type.Boolean()),
      image: optional(strict({ url: imageUrlOrData() })),
      last_frame: optional(strict({ url: imageUrlOrData() }))
    })
  },
  submitResponse: ({ id }) => ({ body: { request_id: id } }),
  poll: /^\/videos\/([^/]+)$/,
  pollResponse ({ state }, video) {
    const usage = { cost_in_usd_ticks: 5_000_000_001 }
    switch (state) {
      case 'running': return { status: 202, body: { status: 'pending', progress: 30 } }
      case 'succeeded':
        return { body: { status: 'done', video: { url: video, duration: 6, respect_moderation: true }, usage } }
      case 'moderated':
        return { body: { status: 'done', video: { url: '', duration: 6, respect_moderation: false }, usage } }
      case 'expired': return { body: { status: 'expired' } }
      default: return { body: { status: 'failed', error: { code: 'internal', message: 'It broke.' } } }
    }
  },
  errorResponse: (why, message) => ({
    status: statusOf[why], body: { code: why === 'moderated' ? 'content_moderation' : why, error: message }
  }),
  priced: { seconds: 'duration', resolution: 'resolution', audio: 'generate_audio' },
  states: ['running', 'succeeded', 'failed', 'moderated', 'expired'],
  frames: { picture: 'any', last: false },
  expected: { seconds: 6, costNano: 500_000_001, progress: 30 }
}
