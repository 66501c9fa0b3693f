import { Type } from '@sinclair/typebox'
import { bearerIs, integer, oneOf, optional, imageUrlOrData, strict, text, type FakeVideoApi } from './fake-api.ts'

const refusals = {
  invalid: [400, 'InvalidParameter'],
  moderated: [400, 'DataInspectionFailed'],
  auth: [401, 'InvalidApiKey'],
  quota: [400, 'Arrearage'],
  rate: [429, 'Throttling.RateQuota'],
  unknown: [404, 'ModelNotFound']
} as const
const statuses = {
  queued: 'PENDING',
  running: 'RUNNING',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  moderated: 'FAILED',
  expired: 'UNKNOWN',
  cancelled: 'CANCELED'
}

/** DashScope: npm @ai-sdk/alibaba 2. The fields are those of Wan 3. */
export const wan: FakeVideoApi = {
  protocol: 'wan',
  base: '/api/v1',
  apiKey: 'dash-secret',
  model: 'wan3-preview',
  isAuthorized: bearerIs('dash-secret'),
  submitHeaders: { 'x-dashscope-async': 'enable' },
  submit: {
    path: /^\/services\/aigc\/video-generation\/video-synthesis$/,
    schema: strict({
      model: text(),
      input: strict({
        prompt: text(),
        media: optional(Type.Array(strict({ type: oneOf('first_frame', 'last_frame'), url: imageUrlOrData() })))
      }),
      parameters: strict({
        resolution: optional(oneOf('480P', '720P', '1080P')),
        ratio: optional(oneOf('16:9', '9:16', '1:1', '4:3', '3:4')),
        duration: optional(integer()),
        seed: optional(integer()),
        audio: optional(Type.Boolean())
      })
    })
  },
  submitResponse: ({ id }) => ({ body: { request_id: 'r', output: { task_id: id, task_status: 'PENDING' } } }),
  poll: /^\/tasks\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      request_id: 'r',
      output: {
        task_id: id,
        task_status: statuses[state],
        ...(state === 'succeeded' && { video_url: video, orig_prompt: 'A cat.' }),
        ...(state === 'failed' && { code: 'InternalError', message: 'It broke.' }),
        ...(state === 'moderated' && { code: 'DataInspectionFailed', message: 'Input data may contain it.' })
      },
      ...(state === 'succeeded' && { usage: { output_video_duration: 5, SR: 720 } })
    }
  }),
  cancel: { method: 'POST', path: /^\/tasks\/([^/]+)\/cancel$/, answer: { body: { request_id: 'r' } } },
  errorResponse (why, message) {
    const [status, code] = refusals[why]
    return { status, body: { code, message, request_id: 'r' } }
  },
  priced: { seconds: 'parameters.duration', resolution: 'parameters.resolution', audio: 'parameters.audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'cancelled'],
  frames: { picture: 'any', last: true },
  expected: { seconds: 5, costNano: null, progress: null }
}
