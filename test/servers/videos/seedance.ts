import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, statusOf, strict, text, type FakeVideoApi } from './fake-api.ts'

const codes = {
  invalid: 'InvalidParameter',
  moderated: 'InputTextSensitiveContentDetected',
  auth: 'AuthenticationError',
  quota: 'AccountOverdueError',
  rate: 'RateLimitExceeded.EndpointRPMExceeded',
  unknown: 'ResourceNotFound'
}

/** Seedance at BytePlus: vercel/ai, packages/bytedance. A failed task is reported with status 200. */
export const seedance: FakeVideoApi = {
  protocol: 'seedance',
  base: '/api/v3',
  apiKey: 'ark-secret',
  model: 'seedance-1-5-pro-251215',
  isAuthorized: bearerIs('ark-secret'),
  submit: {
    path: /^\/contents\/generations\/tasks$/,
    schema: strict({
      model: text(),
      content: Type.Array(Type.Union([
        strict({ type: oneOf('text'), text: text() }),
        strict({
          type: oneOf('image_url'), image_url: strict({ url: imageUrlOrData() }), role: oneOf('first_frame', 'last_frame')
        })
      ]), { minItems: 1 }),
      ratio: optional(oneOf('16:9', '9:16', '1:1', '4:3', '3:4', '21:9', 'adaptive')),
      resolution: optional(oneOf('480p', '720p', '1080p')),
      duration: optional(integer()),
      seed: optional(integer()),
      generate_audio: optional(Type.Boolean()),
      service_tier: oneOf('default'),
      draft: optional(Type.Literal(false)),
      watermark: optional(Type.Boolean())
    })
  },
  submitResponse: ({ id }) => ({ body: { id } }),
  poll: /^\/contents\/generations\/tasks\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      status: state === 'moderated' ? 'failed' : state,
      ...(state === 'succeeded' && {
        content: { video_url: video }, usage: { completion_tokens: 108_900 }, duration: 5
      }),
      ...(state === 'failed' && { error: { code: 'InternalServiceError', message: 'It broke.' } }),
      ...(state === 'moderated' && {
        error: { code: 'OutputVideoSensitiveContentDetected', message: 'Not this.' }
      })
    }
  }),
  cancel: { method: 'DELETE', path: /^\/contents\/generations\/tasks\/([^/]+)$/, answer: { body: {} } },
  errorResponse: (why, message) => ({
    status: why === 'quota' ? 403 : statusOf[why], body: { error: { code: codes[why], message, type: 'BadRequest' } }
  }),
  priced: { seconds: 'duration', resolution: 'resolution', audio: 'generate_audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'expired', 'cancelled'],
  frames: { picture: 'any', last: true },
  expected: { seconds: 5, costNano: null, progress: null }
}
