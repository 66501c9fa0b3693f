import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { flag, milliseconds, oneOf, strict, usd } from './fields.ts'

/** What holds where the block `video` says nothing. */
export const videoDefaults = {
  heartbeat: true,
  heartbeatAfterMs: 20_000,
  heartbeatEveryMs: 15_000,
  maxHoldMs: 570_000,
  content: 'url',
  onAmbiguous: 'fail',
  abandonAfterMs: 600_000,
  takeoverAfterMs: 15_000,
  pollsPerSecond: 20
} as const

const videoSize = Type.String({ pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$', examples: ['1280x720'] })

const VideoPriceEntry = Type.Object({
  size: Type.Optional(Type.String({ ...videoSize, description: 'Only of this size.' })),
  audio: Type.Optional(Type.Boolean({ description: 'Only with sound, or only without.' })),
  second: usd('second of video', 9)
}, { ...strict, description: 'A price for videos of one kind.' })

/** `video` of a model. */
export const VideoEntry = Type.Object({
  seconds: Type.Optional(Type.Array(Type.Number({ exclusiveMinimum: 0, maximum: 3600 }), {
    minItems: 1, maxItems: 100, description: 'The lengths it makes, in seconds. Default: any.', examples: [[4, 8]]
  })),
  default_seconds: Type.Optional(Type.Number({
    exclusiveMinimum: 0, maximum: 3600, description: 'The length where the client names none.'
  })),
  max_seconds: Type.Optional(Type.Number({
    exclusiveMinimum: 0, maximum: 3600, description: 'The longest video it makes; so much is held in advance.'
  })),
  sizes: Type.Optional(Type.Array(videoSize, {
    minItems: 1, maxItems: 100, description: 'The sizes it makes. Default: any.'
  })),
  aspect_ratios: Type.Optional(Type.Array(Type.String({ pattern: '^\\d{1,3}:\\d{1,3}$' }), {
    minItems: 1, maxItems: 100, description: 'The aspect ratios it makes. Default: any.'
  })),
  audio: Type.Optional(flag('Makes sound, when it is asked to.', true)),
  first_frame: Type.Optional(Type.Boolean({
    description: 'Starts from a picture. Default: whether the model has the capability `vision`.'
  })),
  last_frame: Type.Optional(flag('Ends with a second picture.', false)),
  prices: Type.Optional(Type.Array(VideoPriceEntry, {
    minItems: 1, maxItems: 100, description: 'Prices that depend on size or sound; the first that fits counts.'
  }))
}, { ...strict, description: 'What a video model can do.' })
export type VideoEntry = Static<typeof VideoEntry>

/** The block `video`: how requests for videos are held open, and jobs worked on. */
export const VideoBlock = Type.Object({
  heartbeat: Type.Optional(flag(
    'Whether a waiting client is sent 200 and spaces. Without, it gets nothing before the answer with its exact ' +
    'status, and every time limit on the way has to be raised.', videoDefaults.heartbeat)),
  heartbeat_after_ms: Type.Optional(milliseconds(
    'How long an error may still have its own status, before 200 is sent.', videoDefaults.heartbeatAfterMs)),
  heartbeat_every_ms: Type.Optional(milliseconds('Between two spaces.', videoDefaults.heartbeatEveryMs)),
  max_hold_ms: Type.Optional(milliseconds(
    'How long a request is held at most; below what clients wait.', videoDefaults.maxHoldMs)),
  content: Type.Optional(oneOf(['url', 'markdown', 'html'], {
    default: videoDefaults.content, description: 'How the address of a video stands in the answer.'
  })),
  on_ambiguous: Type.Optional(oneOf(['fail', 'resubmit'], {
    default: videoDefaults.onAmbiguous,
    description: 'What happens when nobody knows whether the provider has got a job: `fail` never pays twice, ' +
      '`resubmit` may.'
  })),
  abandon_after_ms: Type.Optional(milliseconds(
    'A job that the provider has not begun is cancelled when nobody has waited for it for so long.',
    videoDefaults.abandonAfterMs)),
  takeover_after_ms: Type.Optional(milliseconds(
    'How long a node is silent before others take its jobs over. Read at the start only.',
    videoDefaults.takeoverAfterMs)),
  polls_per_second: Type.Optional(Type.Number({
    exclusiveMinimum: 0,
    maximum: 10_000,
    default: videoDefaults.pollsPerSecond,
    description: 'Most polls of one provider by one node.'
  }))
}, { ...strict, description: 'How requests for videos are held open, and their jobs worked on.' })
export type VideoBlock = Static<typeof VideoBlock>
