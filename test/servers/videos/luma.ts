import { Type } from '@sinclair/typebox'
import { httpsUrl, bearerIs, oneOf, optional, statusOf, strict, text, type JobState, type FakeVideoApi } from './fake-api.ts'

const image = () => strict({ type: oneOf('image'), url: httpsUrl() })

const states = {
  queued: 'queued',
  running: 'dreaming',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'failed',
  cancelled: 'failed'
}
const reasons: Partial<Record<JobState, string>> = { failed: 'It broke.', moderated: 'Frame moderation failed' }

/** Luma's Dream Machine: npm lumaai 1.19. */
export const luma: FakeVideoApi = {
  protocol: 'luma',
  base: '/dream-machine/v1',
  apiKey: 'luma-secret',
  model: 'ray-2',
  isAuthorized: bearerIs('luma-secret'),
  submit: {
    path: /^\/generations\/video$/,
    schema: strict({
      generation_type: oneOf('video'),
      model: oneOf('ray-2', 'ray-flash-2'),
      prompt: optional(text()),
      duration: optional(Type.String({ pattern: '^\\d+s$' })),
      aspect_ratio: optional(oneOf('1:1', '16:9', '9:16', '4:3', '3:4', '21:9', '9:21')),
      resolution: optional(oneOf('540p', '720p', '1080p', '4k')),
      keyframes: optional(strict({ frame0: optional(image()), frame1: optional(image()) }))
    })
  },
  submitResponse: ({ id }) => ({ status: 201, body: { id, state: 'queued', assets: null, failure_reason: null } }),
  poll: /^\/generations\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      state: states[state],
      ...(state === 'succeeded' && { assets: { video } }),
      ...(reasons[state] !== undefined && { failure_reason: reasons[state] })
    }
  }),
  cancel: { method: 'DELETE', path: /^\/generations\/([^/]+)$/, answer: { status: 204 } },
  errorResponse: (why, message) => ({
    status: why === 'auth' ? 403 : statusOf[why],
    body: { detail: why === 'moderated' ? `400: prompt not allowed because of moderation: ${message}` : message }
  }),
  priced: { seconds: 'duration', resolution: 'resolution', audio: false },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'url', last: true },
  expected: { seconds: null, costNano: null, progress: null }
}
