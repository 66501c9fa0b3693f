import { Type } from '@sinclair/typebox'
import { base64, oneOf, optional, strict, text, type FakeVideoApi } from './fake-api.ts'
import { veo } from './veo.ts'

const states = {
  queued: 'queued',
  running: 'in_progress',
  succeeded: 'completed',
  failed: 'failed',
  moderated: 'completed',
  expired: 'incomplete',
  cancelled: 'cancelled'
}

const image = strict({
  type: oneOf('image'), data: base64(), mime_type: oneOf('image/png', 'image/jpeg', 'image/webp')
})

const request = (model: string, durations: string) => strict({
  model: oneOf(model),
  background: Type.Literal(true),
  input: Type.Array(Type.Union([strict({ type: oneOf('text'), text: text() }), image]), { minItems: 1 }),
  response_format: strict({
    type: oneOf('video'),
    delivery: oneOf('uri'),
    duration: Type.String({ pattern: durations }),
    resolution: oneOf('360p', '720p', '1080p', '4k'),
    aspect_ratio: optional(oneOf('16:9', '9:16'))
  }),
  generation_config: strict({ video_config: strict({ task: oneOf('text_to_video', 'image_to_video') }) })
})

const refusal = { type: 'text', text: 'I cannot make this video: it shows a celebrity.' }

/**
 * Gemini's Interactions API for video: PyPI google-genai 3.6.1, `CreateModelInteractionParam`, `Interaction`
 * and `VideoResponseFormat`. The file is Gemini's, as Veo's is. A refused prompt completes with text alone.
 */
export const omni: FakeVideoApi = {
  ...veo,
  protocol: 'gemini',
  model: 'gemini-omni-1.1-flash',
  submit: {
    path: /^\/interactions$/,
    schema: Type.Union([
      request('gemini-omni-1.2-flash', '^([3-9]|1[0-5])s$'), request('gemini-omni-1.1-flash', '^([3-9]|10)s$')
    ])
  },
  submitResponse: ({ id }) => ({ body: { id, object: 'interaction', status: 'in_progress' } }),
  poll: /^\/interactions\/([^/]+)$/,
  pollResponse: ({ id, state }) => ({
    body: {
      id,
      object: 'interaction',
      status: states[state],
      ...(state === 'failed' && { errors: [{ code: 'internal', message: 'It broke.' }] }),
      ...(state === 'moderated' && { steps: [{ type: 'model_output', content: [refusal] }] }),
      ...(state === 'succeeded' && {
        steps: [
          { type: 'user_input', content: [{ type: 'text', text: 'A cat walks.' }] },
          { type: 'thought', signature: 'c2ln' },
          {
            type: 'model_output',
            content: [{
              type: 'video',
              mime_type: 'video/mp4',
              uri: `https://generativelanguage.googleapis.com/v1beta/files/${id}:download?alt=media`
            }]
          }
        ]
      })
    }
  }),
  cancel: { method: 'POST', path: /^\/interactions\/([^/]+)\/cancel$/ },
  priced: { seconds: 'response_format.duration', resolution: 'response_format.resolution', audio: true },
  states: ['queued', 'running', 'succeeded', 'failed', 'moderated', 'cancelled'],
  frames: { picture: 'bytes', last: false }
}
