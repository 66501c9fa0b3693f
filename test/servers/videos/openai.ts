import { bearerIs, optional, imageUrlOrData, statusOf, strict, text, integer, oneOf, type FakeVideoApi } from './fake-api.ts'

const codes = {
  invalid: 'invalid_value',
  moderated: 'moderation_blocked',
  auth: 'invalid_api_key',
  quota: 'insufficient_quota',
  rate: 'rate_limit_exceeded',
  unknown: 'not_found'
}
const statuses = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'failed',
  cancelled: 'failed'
}

/** OpenAI's `/videos` as of August 2026; `seed` is an addition of self-hosted servers. */
export const openai: FakeVideoApi = {
  protocol: 'openai',
  base: '/v1',
  apiKey: 'sk-openai-secret',
  model: 'sora-2',
  isAuthorized: bearerIs('sk-openai-secret'),
  submit: {
    path: /^\/videos$/,
    schema: strict({
      model: text(),
      prompt: text(),
      seconds: optional(oneOf('4', '8', '12')),
      size: optional(oneOf('720x1280', '1280x720', '1024x1792', '1792x1024')),
      input_reference: optional(strict({ image_url: imageUrlOrData() })),
      seed: optional(integer())
    })
  },
  submitResponse: ({ id }) => ({ body: { id, object: 'video', status: 'queued', progress: 0, seconds: '4', error: null } }),
  poll: /^\/videos\/([^/]+)$/,
  pollResponse: ({ id, state }) => ({
    body: {
      id,
      object: 'video',
      status: statuses[state],
      progress: state === 'running' ? 42 : 0,
      seconds: '4',
      size: '1280x720',
      model: 'sora-2',
      prompt: 'A cat walks.',
      created_at: 1_790_000_000,
      completed_at: state === 'succeeded' ? 1_790_000_100 : null,
      expires_at: state === 'succeeded' ? 1_790_003_700 : null,
      remixed_from_video_id: null,
      error: state === 'moderated'
        ? { code: 'moderation_blocked', message: 'Blocked by our moderation system.' }
        : statuses[state] === 'failed' ? { code: 'server_error', message: 'It broke.' } : null
    }
  }),
  content: /^\/videos\/([^/]+)\/content$/,
  errorResponse: (why, message) => ({
    status: why === 'quota' ? 429 : statusOf[why],
    body: { error: { message, type: 'invalid_request_error', param: null, code: codes[why] } }
  }),
  priced: { seconds: 'seconds', resolution: 'size', audio: true },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'any', last: false },
  expected: { seconds: 4, costNano: null, progress: 42 }
}
