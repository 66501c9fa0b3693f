import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, statusOf, strict, text, type FakeVideoApi } from './fake-api.ts'

const statuses = {
  queued: 'pending',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'expired',
  cancelled: 'cancelled'
}

/** OpenRouter's `/videos`: npm @openrouter/sdk 1.3. */
export const openrouter: FakeVideoApi = {
  protocol: 'openrouter',
  base: '/api/v1',
  apiKey: 'or-secret',
  model: 'google/veo-3.1',
  isAuthorized: bearerIs('or-secret'),
  submit: {
    path: /^\/videos$/,
    schema: strict({
      model: text(),
      prompt: text(),
      duration: optional(integer()),
      resolution: optional(oneOf('360p', '480p', '720p', '768p', '1080p', '1K', '2K', '4K')),
      size: optional(Type.String({ pattern: '^\\d+x\\d+$' })),
      aspect_ratio: optional(oneOf('16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21')),
      seed: optional(integer()),
      generate_audio: optional(Type.Boolean()),
      frame_images: optional(Type.Array(strict({
        type: oneOf('image_url'),
        image_url: strict({ url: imageUrlOrData() }),
        frame_type: oneOf('first_frame', 'last_frame')
      })))
    })
  },
  submitResponse: ({ id }) => ({ status: 202, body: { id, polling_url: `/api/v1/videos/${id}`, status: 'pending' } }),
  poll: /^\/videos\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      generation_id: `gen-${id}`,
      status: statuses[state],
      polling_url: `/api/v1/videos/${id}`,
      ...(state === 'succeeded' && { unsigned_urls: [video], usage: { cost: 0.4, is_byok: false } }),
      ...(state === 'failed' && { error: 'Upstream failure.' }),
      ...(state === 'moderated' && { error: 'The prompt was flagged for violence.' })
    }
  }),
  content: /^\/videos\/([^/]+)\/content\?index=0$/,
  errorResponse: (why, message) => ({
    status: why === 'moderated' ? 403 : statusOf[why],
    body: why === 'moderated'
      ? { error: { code: 403, message: `Your input was flagged: ${message}`, metadata: { reasons: ['violence'] } } }
      : { error: { code: statusOf[why], message } }
  }),
  priced: { seconds: 'duration', resolution: 'resolution|size', audio: 'generate_audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'expired', 'cancelled'],
  frames: { picture: 'any', last: true },
  expected: { seconds: null, costNano: 400_000_000, progress: null }
}
