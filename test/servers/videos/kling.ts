import { Type } from '@sinclair/typebox'
import { bearerIs, oneOf, optional, strict, text, type FakeVideoApi } from './fake-api.ts'

const refusals = {
  invalid: [400, 1201],
  moderated: [400, 1301],
  auth: [401, 1002],
  quota: [429, 1102],
  rate: [429, 1303],
  unknown: [404, 1203]
} as const
const statuses = { queued: 'submitted', running: 'processing', succeeded: 'succeed' } as const
const image = () => Type.String({ pattern: '^(https://|[A-Za-z0-9+/]+=*$)' })

/**
 * Kling: vercel/ai, packages/klingai at 052b6d5. Errors may have the status 200; base64 has nothing before
 * it.
 */
export const kling: FakeVideoApi = {
  protocol: 'kling',
  base: '/v1',
  apiKey: 'kling-secret',
  model: 'kling-v3',
  isAuthorized: bearerIs('kling-secret'),
  submit: {
    path: /^\/videos\/(?:text|image)2video$/,
    schema: strict({
      model_name: text(),
      prompt: optional(text()),
      image: optional(image()),
      image_tail: optional(image()),
      mode: optional(oneOf('std', 'pro', '4k')),
      duration: optional(Type.String({ pattern: '^\\d+$' })),
      aspect_ratio: optional(oneOf('16:9', '9:16', '1:1')),
      sound: optional(oneOf('on', 'off')),
      external_task_id: text()
    })
  },
  submitResponse: ({ id }) => ({
    body: { code: 0, message: 'SUCCEED', request_id: 'r', data: { task_id: id, task_status: 'submitted' } }
  }),
  poll: /^\/videos\/(?:text|image)2video\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      code: 0,
      message: 'SUCCEED',
      request_id: 'r',
      data: {
        task_id: id,
        task_status: state === 'failed' || state === 'moderated' || state === 'expired' || state === 'cancelled'
          ? 'failed'
          : statuses[state],
        task_status_msg: state === 'moderated'
          ? 'Failure to pass the risk control system: inappropriate content.'
          : state === 'failed' ? 'It broke.' : '',
        ...(state === 'succeeded' && {
          task_result: { videos: [{ id: 'v', url: video, duration: '5.1' }] }, final_unit_deduction: '3.5'
        })
      }
    }
  }),
  errorResponse (why, message) {
    const [status, code] = refusals[why]
    return { status, body: { code, message, request_id: 'r' } }
  },
  priced: { seconds: 'duration', resolution: 'mode', audio: 'sound' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'any', last: true },
  expected: { seconds: 5.1, costNano: null, progress: null }
}
