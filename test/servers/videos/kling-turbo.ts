import { Type } from '@sinclair/typebox'
import { oneOf, strict, text, type FakeVideoApi } from './fake-api.ts'
import { kling } from './kling.ts'

const statuses = { queued: 'submitted', running: 'processing', succeeded: 'succeeded' } as const
const settings = { resolution: oneOf('720p', '1080p'), duration: Type.Integer({ minimum: 3, maximum: 15 }) }
const options = strict({ external_task_id: text(), watermark_info: strict({ enabled: Type.Literal(false) }) })
const image = () => Type.String({ pattern: '^(https://|[A-Za-z0-9+/]+=*$)' })

/** Kling's API of 2026, which answers with a list of tasks: kling.ai/document-api/api/video/3-0-turbo. */
export const klingTurbo: FakeVideoApi = {
  ...kling,
  base: '',
  model: 'kling-3.0-turbo',
  submit: {
    path: /^\/(?:text|image)-to-video\/kling-3\.0-turbo$/,
    schema: Type.Union([
      strict({
        prompt: Type.String({ minLength: 1, maxLength: 3072 }),
        settings: strict({ ...settings, aspect_ratio: oneOf('16:9', '9:16', '1:1') }),
        options
      }),
      strict({
        contents: Type.Tuple([
          strict({ type: oneOf('prompt'), text: Type.String({ minLength: 1, maxLength: 2500 }) }),
          strict({ type: oneOf('first_frame'), url: image() })
        ]),
        settings: strict(settings),
        options
      })
    ])
  },
  submitResponse: ({ id }) => ({
    body: { code: 0, message: 'SUCCEED', request_id: 'r', data: { id, status: 'submitted', message: '' } }
  }),
  poll: /^\/tasks\?task_ids=([^/&]+)$/,
  pollResponse: ({ id, state }, video) => ({
    body: {
      code: 0,
      message: 'SUCCEED',
      request_id: 'r',
      data: [{
        id,
        status: state === 'failed' || state === 'moderated' || state === 'expired' || state === 'cancelled'
          ? 'failed'
          : statuses[state],
        message: state === 'moderated'
          ? 'Failure to pass the risk control system: inappropriate content.'
          : state === 'failed' ? 'It broke.' : '',
        ...(state === 'succeeded' && { outputs: [{ type: 'video', id: 'v', url: video, duration: '5.1' }] })
      }]
    }
  }),
  priced: { seconds: 'settings.duration', resolution: 'settings.resolution', audio: true },
  frames: { picture: 'any', last: false }
}
