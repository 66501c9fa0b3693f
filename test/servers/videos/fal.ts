import { Type } from '@sinclair/typebox'
import { integer, optional, imageUrlOrData, strict, text, type FakeVideoApi } from './fake-api.ts'

const app = 'fal-ai/bytedance'

const requestOf = (id: string) => ({
  request_id: id,
  response_url: `https://queue.fal.run/${app}/requests/${id}`,
  status_url: `https://queue.fal.run/${app}/requests/${id}/status`,
  cancel_url: `https://queue.fal.run/${app}/requests/${id}/cancel`
})

/**
 * The queue of fal: npm @fal-ai/client 1.10.1. A job that failed is completed; its result has the error. The
 * model is one that the client does not declare, with the fields of Seedance.
 */
export const fal: FakeVideoApi = {
  protocol: 'fal',
  base: '',
  apiKey: 'fal-id:fal-secret',
  model: `${app}/seedance/v2/pro`,
  isAuthorized: headers => headers.authorization === 'Key fal-id:fal-secret',
  submit: {
    path: /^\/fal-ai\/bytedance\/seedance\/v2\/pro$/,
    schema: strict({
      prompt: text(),
      image_url: optional(imageUrlOrData()),
      end_image_url: optional(imageUrlOrData()),
      duration: optional(Type.String({ pattern: '^\\d+$' })),
      aspect_ratio: optional(text()),
      resolution: optional(text()),
      seed: optional(integer()),
      generate_audio: optional(Type.Boolean())
    })
  },
  submitResponse: ({ id }) => ({ body: { status: 'IN_QUEUE', ...requestOf(id), queue_position: 0 } }),
  poll: /^\/fal-ai\/bytedance\/requests\/([^/]+)\/status(?:\?logs=[01])?$/,
  pollResponse: ({ id, state }) => {
    if (state === 'queued') return { status: 202, body: { status: 'IN_QUEUE', ...requestOf(id), queue_position: 1 } }
    if (state === 'running') return { status: 202, body: { status: 'IN_PROGRESS', ...requestOf(id), logs: [] } }
    return { body: { status: 'COMPLETED', ...requestOf(id), logs: [], metrics: { inference_time: 41.2 } } }
  },
  result: {
    path: /^\/fal-ai\/bytedance\/requests\/([^/]+)$/,
    answer: ({ state }, video) => state === 'succeeded'
      ? { body: { video: { url: video, content_type: 'video/mp4', duration: 5.1 }, seed: 7 } }
      : {
          status: 422,
          body: {
            detail: [{
              loc: ['body', 'prompt'],
              msg: state === 'moderated' ? 'The content could not be processed.' : 'It broke.',
              type: state === 'moderated' ? 'content_policy_violation' : 'no_media_generated'
            }]
          }
        }
  },
  cancel: {
    method: 'PUT',
    path: /^\/fal-ai\/bytedance\/requests\/([^/]+)\/cancel$/,
    answer: { status: 202, body: { status: 'CANCELLATION_REQUESTED' } }
  },
  errorResponse (why, message) {
    const status = { invalid: 422, moderated: 422, auth: 401, quota: 402, rate: 429, unknown: 404 }[why]
    const detail = why === 'moderated' ? [{ msg: message, type: 'content_policy_violation' }] : message
    return { status, body: { detail } }
  },
  priced: { seconds: 'duration', resolution: 'resolution', audio: 'generate_audio' },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated'],
  frames: { picture: 'any', last: true },
  expected: { seconds: 5.1, costNano: null, progress: null }
}
