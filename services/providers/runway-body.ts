import type { JsonObject } from '../shared/json.ts'
import {
  formatVideoSize, frameUrl, refuseRatio, refuseSeed, refuseWish, resolutionFor, shapeOf, sizeAmong,
  withoutNulls, type ResolutionName
} from './video-jobs/fields.ts'
import type { VideoChoices, VideoTask } from './provider-video.ts'

/**
 * The fields of one of Runway's models. Source: npm @runwayml/sdk 4.20.1, resources/{text,image}-to-video, 23
 * Nov 2026.
 */
interface RunwayModel {
  /** Name and value of the fields that state size and shape. */
  size (task: VideoTask, hasFrames: boolean): JsonObject
  defaultSize?: string
  seconds?: number
  /** Default: `always`, for the models without a field. */
  sound?: VideoChoices['sound']
  hasSeed?: boolean
  /** A picture needs a text too. */
  needsText?: boolean
}

const wide = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9']
const gen4Sizes = ['1280:720', '720:1280', '1104:832', '960:960', '832:1104', '1584:672']
const hdSizes = gen4Sizes.slice(0, 2)

const pixelsOf = (sizes: readonly string[]): RunwayModel['size'] => task => ({ ratio: sizeAmong(task, sizes) })

/** The shape is stated for videos from text; others take that of their first frame. */
const named = (resolutions: readonly ResolutionName[], ratios: readonly string[]): RunwayModel['size'] =>
  (task, hasFrames) => ({
    ratio: hasFrames ? refuseRatio(task) : shapeOf(task, ratios), resolution: resolutionFor(task, resolutions)
  })

const veo: RunwayModel = {
  size: pixelsOf([...hdSizes, '1920:1080', '1080:1920']), seconds: 8, sound: 'stated', hasSeed: true
}

/** Sizes in the SDK are all that have these numbers of pixels; others are refused by Runway. */
const anyPixels: RunwayModel['size'] = task => ({ ratio: formatVideoSize(task, ':') })

const wan: RunwayModel = {
  size (task, hasFrames) {
    if (!hasFrames) return anyPixels(task, hasFrames)
    refuseRatio(task)
    return { ratio: `auto_${resolutionFor(task, ['480p', '720p', '1080p'])}` }
  },
  sound: 'stated',
  needsText: true
}

const models: readonly (RunwayModel & { model: RegExp })[] = [
  {
    model: /^gen4\.5/,
    size: (task, hasFrames) => pixelsOf(hasFrames ? gen4Sizes : hdSizes)(task, hasFrames),
    sound: 'never',
    hasSeed: true,
    needsText: true
  },
  { model: /^gen4/, size: pixelsOf(gen4Sizes), sound: 'never', hasSeed: true },
  { model: /^veo3/, ...veo },
  { model: /^hailuo3/, size: named(['768p', '2k'], wide), defaultSize: '1366x768', needsText: true },
  {
    model: /^happyhorse/,
    size: (task, hasFrames) => hasFrames
      ? { ratio: refuseRatio(task), resolution: resolutionFor(task, ['720p', '1080p']) }
      : anyPixels(task, hasFrames)
  },
  { model: /^seedance/, size: anyPixels, sound: 'stated', hasSeed: true },
  { model: /^grok_imagine/, size: named(['480p', '720p', '1080p'], ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3']) },
  { model: /^wan/, ...wan },
  {
    model: /^h3_max/,
    size (task) {
      refuseRatio(task, 'has no field for an aspect ratio')
      return { resolution: resolutionFor(task, ['480p', '768p']) }
    },
    defaultSize: '1366x768',
    hasSeed: true,
    needsText: true
  },
  { model: /^gemini_omni_flash_1\.1/, size: anyPixels, needsText: true },
  { model: /^gemini_omni/, size: anyPixels },
  { model: /(?:)/, size: anyPixels, sound: 'stated', hasSeed: true }
]

function modelOf (name: string): RunwayModel {
  return models.find(({ model }) => model.test(name)) ?? { size: anyPixels }
}

/** What is stated of a model by default. */
export function runwayChoices (name: string): VideoChoices {
  const { seconds = 5, defaultSize: size = '1280x720', sound = 'always' } = modelOf(name)
  return { seconds, size, sound }
}

/** The body of a submit. Throws UpstreamError for what the model has no field for. */
export function bodyOf (task: VideoTask): JsonObject {
  const { size, hasSeed = false, needsText = false, sound } = modelOf(task.model)
  const frames = framesOf(task)
  if (!hasSeed) refuseSeed(task)
  if (task.prompt === '' && needsText) refuseWish('messages', 'needs a text besides the picture')
  return withoutNulls({
    model: task.model,
    promptText: task.prompt === '' ? null : task.prompt,
    promptImage: frames,
    duration: task.seconds,
    ...size(task, frames !== null),
    seed: task.seed,
    audio: sound === 'stated' ? task.audio : null
  })
}

function framesOf ({ firstFrame, lastFrame }: VideoTask) {
  const frames = [
    firstFrame && { uri: frameUrl(firstFrame), position: 'first' },
    lastFrame && { uri: frameUrl(lastFrame), position: 'last' }
  ].filter(frame => frame !== null)
  return frames.length === 0 ? null : frames
}
