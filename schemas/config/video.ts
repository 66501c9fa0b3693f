import { Type } from '@sinclair/typebox'
import { flag, milliseconds, oneOf, strict, usd, type Known, type Parsed } from './fields.ts'

const videoSize = Type.String({ pattern: '^[1-9]\\d{1,4}x[1-9]\\d{1,4}$', examples: ['1280x720'] })

const VideoPriceEntry = Type.Object({
  size: Type.Optional(Type.String({
    ...videoSize, description: 'Only videos with about this many pixels, in any shape.'
  })),
  audio: Type.Optional(flag('Only videos with audio, or only those without.')),
  second: usd('second of video')
}, { ...strict, description: 'A price for videos of one kind.' })

/** `video` of a model. */
export const VideoEntry = Type.Object({
  seconds: Type.Optional(Type.Array(Type.Number({ exclusiveMinimum: 0, maximum: 3600 }), {
    minItems: 1, maxItems: 100, description: 'Supported lengths in seconds. Default: any.', examples: [[4, 8]]
  })),
  default_seconds: Type.Optional(Type.Number({
    exclusiveMinimum: 0, maximum: 3600, description: 'Length of a video if the client requests none.'
  })),
  max_seconds: Type.Optional(Type.Number({
    exclusiveMinimum: 0,
    maximum: 3600,
    description: 'Longest video; its price is held in advance. Default: the longest of `seconds`.'
  })),
  sizes: Type.Optional(Type.Array(videoSize, {
    minItems: 1, maxItems: 100, description: 'Supported sizes. Default: any.'
  })),
  default_size: Type.Optional(Type.String({
    ...videoSize,
    description: 'Size if the client requests none. Default: the provider\'s usual size, if it is ' +
      'among `sizes`, else the first of them.'
  })),
  aspect_ratios: Type.Optional(Type.Array(Type.String({ pattern: '^\\d{1,3}:\\d{1,3}$' }), {
    minItems: 1, maxItems: 100, description: 'Supported aspect ratios. Default: any.'
  })),
  audio: Type.Optional(flag('Generates audio on request. Default: as in the catalogue, else true.')),
  default_audio: Type.Optional(flag('Whether a video has audio if the client does not say. Default: false, except for ' +
    'models that always generate it.')),
  first_frame: Type.Optional(flag('Accepts a first frame. Default: as in the catalogue, else the capability `vision`.')),
  last_frame: Type.Optional(flag('Accepts a last frame. Default: as in the catalogue, else false.')),
  prices: Type.Optional(Type.Array(VideoPriceEntry, {
    minItems: 1, maxItems: 100, description: 'Prices by size and audio; the first match applies.'
  }))
}, { ...strict, description: 'What a video model supports.' })

/** Capabilities of a video model; null if unknown. A null size or audio in a price matches any. */
export type VideoAbilities = Known<Parsed<typeof VideoEntry>, 'audio' | 'lastFrame' | 'prices'>

/** The block `video`: long polls and jobs. */
export const VideoBlock = Type.Object({
  heartbeat: flag('Whether to send 200 and whitespace to a waiting client, for videos and images. Without it the response has its exact ' +
    'status, but every idle timeout on the way must be raised.', true),
  heartbeat_after_ms: milliseconds('Time before 200 is sent; an earlier error has its own status.', 20_000),
  heartbeat_every_ms: milliseconds('Interval of the whitespace.', 15_000),
  max_hold_ms: milliseconds('How long a request is kept open at most; less than the timeout of clients.', 570_000),
  content: oneOf(['url', 'markdown', 'html'], {
    default: 'url', description: 'How the response contains the URL of a video.'
  }),
  on_ambiguous: oneOf(['fail', 'resubmit'], {
    default: 'fail',
    description: 'What to do when it is unknown whether the provider received a job: `fail` never pays twice, ' +
      '`resubmit` may.'
  }),
  abandon_after_ms: milliseconds('A job that the provider has not started is cancelled after this time without a ' +
    'waiting client.', 600_000),
  takeover_after_ms: milliseconds('After this time without a heartbeat of their node, jobs move to other nodes. Read at ' +
    'startup only.', 15_000),
  polls_per_second: Type.Number({
    exclusiveMinimum: 0,
    maximum: 10_000,
    default: 250,
    description: 'Most polls of one provider by one node. A 429 of the provider lowers the rate.'
  })
}, { ...strict, default: {}, description: 'How video requests are kept open, and how their jobs are run.' })
export type VideoSettings = Parsed<typeof VideoBlock>
