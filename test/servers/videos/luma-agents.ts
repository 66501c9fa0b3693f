import { Type } from '@sinclair/typebox'
import { base64, bearerIs, httpsUrl, oneOf, optional, strict, text, type FakeVideoApi, type JobState } from './fake-api.ts'

const image = () => Type.Union([strict({ url: httpsUrl() }), strict({ data: base64(), media_type: text() })])
const resolution = () => optional(oneOf('360p', '540p', '720p', '1080p'))

const states = {
  queued: 'queued',
  running: 'processing',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'failed',
  expired: 'failed',
  cancelled: 'failed'
}
const failures: Partial<Record<JobState, object>> = {
  failed: { failure_code: 'generation_failed', failure_reason: 'It broke.' },
  moderated: { failure_code: 'content_moderated', failure_reason: 'Output.' }
}
const statuses = { invalid: 422, moderated: 400, auth: 401, quota: 402, rate: 429, unknown: 404 }

/**
 * Luma's Agents API: PyPI luma-agents 0.5.0, types/generation_create_params.py and types/generation.py. A
 * video with a picture has 5 seconds.
 */
export const lumaAgents: FakeVideoApi = {
  protocol: 'luma',
  base: '/v1',
  apiKey: 'luma-secret',
  model: 'ray-3.2',
  isAuthorized: bearerIs('luma-secret'),
  submit: {
    path: /^\/generations$/,
    schema: strict({
      model: oneOf('ray-3.2'),
      type: oneOf('video'),
      prompt: Type.String({ minLength: 1, maxLength: 6000 }),
      aspect_ratio: optional(oneOf('9:16', '3:4', '1:1', '4:3', '16:9', '21:9')),
      video: Type.Union([
        strict({ resolution: resolution(), duration: optional(oneOf('5s', '10s')) }),
        strict({
          resolution: resolution(),
          duration: optional(oneOf('5s')),
          start_frame: optional(image()),
          end_frame: optional(image())
        })
      ])
    })
  },
  submitResponse: ({ id }) => ({
    status: 201,
    body: { id, type: 'video', state: 'queued', model: 'ray-3.2', created_at: '2026-11-28T00:00:00Z', output: [] }
  }),
  poll: /^\/generations\/([^/]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      id,
      type: 'video',
      state: states[state],
      model: 'ray-3.2',
      created_at: '2026-11-28T00:00:00Z',
      ...(state === 'succeeded' && { output: [{ type: 'video', url: video }] }),
      ...failures[state]
    }
  }),
  errorResponse: (why, message) => ({
    status: statuses[why], body: { detail: why === 'moderated' ? `The prompt was flagged: ${message}` : message }
  }),
  priced: { seconds: 'video.duration', resolution: 'video.resolution', audio: false },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'url', last: true },
  seconds: 5,
  expected: { seconds: null, costNano: null, progress: null }
}
