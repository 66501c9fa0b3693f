import { Type } from '@sinclair/typebox'
import { bearerIs, imageUrlOrData, oneOf, optional, strict, type FakeVideoApi } from './fake-api.ts'

const ok = { status_code: 0, status_msg: 'success' }
const codes = { invalid: 2013, moderated: 1026, auth: 1004, quota: 1008, rate: 1002 }
const states = {
  queued: 'Queueing',
  running: 'Processing',
  succeeded: 'Success',
  failed: 'Fail',
  moderated: 'Fail',
  expired: 'Fail',
  cancelled: 'Fail'
}
const request = {
  model: oneOf('MiniMax-Hailuo-2.3', 'MiniMax-Hailuo-2.3-Fast', 'MiniMax-Hailuo-02'),
  prompt: optional(Type.String({ minLength: 1, maxLength: 2000 })),
  first_frame_image: optional(imageUrlOrData()),
  last_frame_image: optional(imageUrlOrData())
}

/**
 * MiniMax's first video API, which reports errors with status 200: npm minimax-mcp-js 0.0.18, api/video.js.
 * 1080P has 6 seconds.
 */
export const hailuo: FakeVideoApi = {
  protocol: 'minimax',
  base: '/v1',
  apiKey: 'mm-secret',
  model: 'MiniMax-Hailuo-2.3',
  isAuthorized: bearerIs('mm-secret'),
  submit: {
    path: /^\/video_generation$/,
    schema: Type.Union([
      strict({ ...request, duration: Type.Union([Type.Literal(6), Type.Literal(10)]), resolution: oneOf('768P') }),
      strict({ ...request, duration: Type.Literal(6), resolution: oneOf('1080P') })
    ])
  },
  submitResponse: ({ id }) => ({ body: { task_id: id, base_resp: ok } }),
  poll: /^\/query\/video_generation\?task_id=([^/&]+)$/,
  pollResponse: ({ id, state }) => ({
    body: {
      task_id: id,
      status: states[state],
      file_id: state === 'succeeded' ? id : '',
      ...(state === 'succeeded' && { video_width: 1366, video_height: 768 }),
      base_resp: state === 'moderated' ? { status_code: 1027, status_msg: 'Output.' } : ok
    }
  }),
  result: {
    path: /^\/files\/retrieve\?file_id=([^/&]+)$/,
    answer: ({ id }, video) => ({
      body: {
        file: { file_id: id, bytes: 0, purpose: 'video_generation', download_url: video }, base_resp: ok
      }
    })
  },
  errorResponse: (why, message) => why === 'unknown'
    ? { status: 404, body: { message } }
    : { status: 200, body: { base_resp: { status_code: codes[why], status_msg: message } } },
  priced: { seconds: 'duration', resolution: 'resolution', audio: false },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'any', last: false },
  seconds: 6,
  isWideOnly: true,
  wide: { width: 1366, height: 768 },
  expected: { seconds: null, costNano: null, progress: null }
}
