import { Type } from '@sinclair/typebox'
import { bearerIs, integer, optional, imageUrlOrData, statusOf, strict, text } from './fake-api.ts'
import type { Job, JobState, FakeVideoApi } from './fake-api.ts'

const statuses = {
  queued: 'starting',
  running: 'processing',
  succeeded: 'succeeded',
  failed: 'failed',
  moderated: 'failed',
  expired: 'aborted',
  cancelled: 'canceled'
}

const errors: Partial<Record<JobState, string>> = {
  failed: 'It broke.', moderated: 'The output was flagged as sensitive. (E005)'
}

export function prediction (job: Job, video: string) {
  const { id, state, body } = job
  return {
    id,
    model: 'bytedance/seedance-1.5-pro',
    version: 'hidden',
    source: 'api',
    input: body.input,
    status: statuses[state],
    output: state === 'succeeded' ? video : null,
    error: errors[state] ?? null,
    created_at: new Date(job.createdAt).toISOString(),
    data_removed: false,
    urls: {
      get: `https://api.replicate.com/v1/predictions/${id}`,
      cancel: `https://api.replicate.com/v1/predictions/${id}/cancel`
    }
  }
}

/** Replicate's predictions: npm replicate 1.4.0. */
export const replicate: FakeVideoApi = {
  protocol: 'replicate',
  base: '/v1',
  apiKey: 'r8_secret',
  model: 'bytedance/seedance-1.5-pro',
  isAuthorized: bearerIs('r8_secret'),
  submit: {
    path: /^\/models\/bytedance\/seedance-1\.5-pro\/predictions$/,
    schema: strict({
      input: strict({
        prompt: optional(text()),
        image: optional(imageUrlOrData()),
        last_frame_image: optional(imageUrlOrData()),
        duration: optional(integer()),
        aspect_ratio: optional(text()),
        resolution: optional(text()),
        seed: optional(integer()),
        generate_audio: optional(Type.Boolean()),
        submit_key: text()
      })
    })
  },
  submitResponse: job => ({ status: 201, body: prediction(job, '') }),
  poll: /^\/predictions\/([^/?]+)$/,
  pollResponse: (job, video) => ({ body: prediction(job, video) }),
  cancel: { method: 'POST', path: /^\/predictions\/([^/]+)\/cancel$/, answer: { body: { status: 'canceled' } } },
  errorResponse: (why, message) => ({
    status: why === 'invalid' || why === 'moderated' ? 422 : statusOf[why],
    body: {
      title: 'Refused',
      detail: why === 'moderated' ? `Your prompt was flagged: ${message}` : message,
      status: statusOf[why]
    }
  }),
  priced: { seconds: 'input.duration', resolution: 'input.resolution', audio: 'input.generate_audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'cancelled'],
  frames: { picture: 'any', last: true },
  expected: { seconds: null, costNano: null, progress: null }
}
