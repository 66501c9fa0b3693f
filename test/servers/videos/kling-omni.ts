import { Type } from '@sinclair/typebox'
import { oneOf, strict, text, type FakeVideoApi } from './fake-api.ts'
import { kling } from './kling.ts'

const image = () => Type.String({ pattern: '^(https://|[A-Za-z0-9+/]+=*$)' })
const frame = (type: string) => strict({ image_url: image(), type: oneOf(type) })
const v3 = {
  model_name: oneOf('kling-v3-omni'),
  mode: oneOf('std', 'pro', '4k'),
  duration: Type.String({ pattern: '^([3-9]|1[0-5])$' }),
  sound: oneOf('on', 'off')
}
const o1 = { model_name: oneOf('kling-video-o1'), mode: oneOf('std', 'pro'), duration: oneOf('5', '10') }
const common = { prompt: Type.String({ minLength: 1, maxLength: 2500 }), external_task_id: text() }
const shape = { aspect_ratio: oneOf('16:9', '9:16', '1:1') }
const frames = {
  image_list: Type.Union([
    Type.Tuple([frame('first_frame')]), Type.Tuple([frame('first_frame'), frame('end_frame')])
  ])
}

/**
 * Kling's `omni-video`, which needs a ratio or a first frame: docs.comfy.org, kling/kling-v3-omni and
 * kling/kling-video-o1.
 */
export const klingOmni: FakeVideoApi = {
  ...kling,
  model: 'kling-v3-omni',
  submit: {
    path: /^\/videos\/omni-video$/,
    schema: Type.Union([v3, o1].flatMap(model =>
      [shape, frames].map(form => strict({ ...common, ...model, ...form }))))
  },
  poll: /^\/videos\/omni-video\/([^/]+)$/
}

/** The same for the model without sound. */
export const klingO1: FakeVideoApi = {
  ...klingOmni, model: 'kling-video-o1', priced: { ...kling.priced, audio: false }, seconds: 5
}
