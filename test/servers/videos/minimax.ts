import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, strict, text, type FakeVideoApi } from './fake-api.ts'

const refusals = {
  invalid: [400, 'bad_request_error'],
  moderated: [422, 'content_moderation_error'],
  auth: [401, 'authorized_error'],
  quota: [402, 'insufficient_balance_error'],
  rate: [429, 'rate_limit_error'],
  unknown: [404, 'not_found_error']
} as const

/** MiniMax's second video API: npm @ai-sdk/minimax 3. */
export const minimax: FakeVideoApi = {
  protocol: 'minimax',
  base: '/v2',
  apiKey: 'mm-secret',
  model: 'MiniMax-H3',
  isAuthorized: bearerIs('mm-secret'),
  submit: {
    path: /^\/video_generation$/,
    schema: strict({
      model: text(),
      content: Type.Array(Type.Union([
        strict({ type: oneOf('text'), text: text() }),
        strict({
          type: oneOf('image_url'), image_url: strict({ url: imageUrlOrData() }), role: oneOf('first_frame', 'last_frame')
        })
      ]), { minItems: 1 }),
      resolution: optional(oneOf('480P', '768P', '2K')),
      duration: optional(integer()),
      ratio: optional(oneOf('adaptive', '21:9', '16:9', '4:3', '1:1', '3:4', '9:16'))
    })
  },
  submitResponse: ({ id }) => ({ body: { task_id: id } }),
  poll: /^\/query\/video_generation\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      task: {
        id,
        status: state === 'moderated' ? 'failed' : state,
        ...(state === 'succeeded' && {
          content: { url: video },
          duration: 6,
          usage: { total_seconds: 8, input_seconds: 2, output_seconds: 6 }
        }),
        ...(state === 'failed' && { error: { code: 1000, message: 'It broke.' } }),
        ...(state === 'moderated' && { error: { code: 1027, message: 'Output.' } })
      }
    }
  }),
  errorResponse (why, message) {
    const [status, type] = refusals[why]
    return { status, body: { type: 'error', error: { type, message, http_code: String(status) }, request_id: 'r' } }
  },
  priced: { seconds: 'duration', resolution: 'resolution', audio: true },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'expired', 'cancelled'],
  frames: { picture: 'any', last: true },
  wide: { width: 2560, height: 1440 },
  expected: { seconds: 6, costNano: null, progress: null }
}
