import type { JsonObject } from '../shared/json.ts'
import {
  aspectRatioFor, formatVideoSize, frameUrl, refuseLastFrame, refuseRatio, refuseSeed, refuseOption,
  resolutionFor, secondsAmong, shapeOf, sizeAmong, withoutNulls
} from './video-jobs/fields.ts'
import type { VideoChoices, VideoTask } from './provider-video.ts'

/**
 * The fields of one of Runway's models. Source: npm @runwayml/sdk 4.20.1, resources/{text,image}-to-video, 24
 * Nov 2026.
 */
interface RunwayModel {
  /** Name and value of the fields that state size and shape. */
  size (task: VideoTask, hasFrames: boolean): JsonObject
  defaultSize?: string
  seconds?: number
  /** All lengths there are; absent: any in a range. */
  lengths?: readonly number[]
  /** Default: `always`, for the models without a field. */
  sound?: VideoChoices['sound']
  hasSeed?: boolean
  hasLastFrame?: boolean
  /** A picture needs a text too. */
  needsText?: boolean
  needsPicture?: boolean
}

const wide = ['21:9', '16:9', '4:3', '1:1', '3:4', '9:16']
const hd = ['1280:720', '720:1280']
const fullHd = ['1920:1080', '1080:1920']
const gen4 = [...hd, '1104:832', '960:960', '832:1104', '1584:672']
const seedance480 = ['992:432', '864:496', '752:560', '640:640', '560:752', '496:864']
const seedance25At480 = ['992:432', '854:480', '752:560', '640:640', '560:752', '480:854']
const seedance720 = [...hd, '1470:630', '1112:834', '960:960', '834:1112']
const seedance1080 = [...fullHd, '2206:946', '1664:1248', '1440:1440', '1248:1664']
const seedance4k = ['3840:1646', '3840:2160', '3840:2880', '3840:3840', '2880:3840', '2160:3840']
const happyhorse = [...hd, ...fullHd, '960:960', '1108:832', '832:1108', '1440:1440', '1662:1248', '1248:1662']
const wan = [
  '832:480', '720:544', '624:624', '544:720', '480:832', ...hd, '1104:832', '960:960', '832:1104', ...fullHd,
  '1648:1248', '1440:1440', '1248:1648'
]

const pixelsOf = (sizes: readonly string[]): RunwayModel['size'] => task => ({ ratio: sizeAmong(task, sizes) })

const seedance = (sizes: readonly string[]): RunwayModel => ({
  size: pixelsOf(sizes), sound: 'stated', hasSeed: true, hasLastFrame: true
})

const models: readonly (RunwayModel & { model: RegExp })[] = [
  {
    model: /^gen4\.5/,
    size: (task, hasFrames) => pixelsOf(hasFrames ? gen4 : hd)(task, hasFrames),
    sound: 'never',
    hasSeed: true,
    needsText: true
  },
  { model: /^gen4/, size: pixelsOf(gen4), sound: 'never', hasSeed: true, needsPicture: true },
  {
    model: /^veo3/,
    size: pixelsOf([...hd, ...fullHd]),
    seconds: 8,
    lengths: [4, 6, 8],
    sound: 'stated',
    hasSeed: true,
    hasLastFrame: true
  },
  {
    model: /^hailuo3/,
    size: (task, hasFrames) => ({
      ratio: hasFrames ? aspectRatioFor(task, wide) ?? 'adaptive' : shapeOf(task, wide),
      resolution: resolutionFor(task, ['768p', '2k'])
    }),
    defaultSize: '1366x768',
    hasLastFrame: true,
    needsText: true
  },
  {
    model: /^happyhorse/,
    size: (task, hasFrames) => hasFrames
      ? { ratio: refuseRatio(task), resolution: resolutionFor(task, ['720p', '1080p']) }
      : pixelsOf(happyhorse)(task, hasFrames)
  },
  { model: /^seedance2_5/, ...seedance([...seedance25At480, ...seedance720, ...seedance1080]) },
  { model: /^seedance2_(fast|mini)/, ...seedance([...seedance480, ...seedance720]) },
  { model: /^seedance2$/, ...seedance([...seedance480, ...seedance720, ...seedance1080, ...seedance4k]) },
  {
    model: /^grok_imagine/,
    // A video has the shape of its picture.
    size: (task, hasFrames) => ({
      ratio: hasFrames ? refuseRatio(task) : shapeOf(task, ['1:1', '16:9', '9:16', '4:3', '3:4', '3:2', '2:3']),
      resolution: resolutionFor(task, ['480p', '720p', '1080p'])
    })
  },
  {
    model: /^wan/,
    size (task, hasFrames) {
      if (!hasFrames) return pixelsOf(wan)(task, hasFrames)
      refuseRatio(task)
      return { ratio: `auto_${resolutionFor(task, ['480p', '720p', '1080p'])}` }
    },
    sound: 'stated',
    hasLastFrame: true,
    needsText: true
  },
  {
    model: /^h3_max/,
    size (task) {
      refuseRatio(task, 'has no field for an aspect ratio')
      return { resolution: resolutionFor(task, ['480p', '768p']) }
    },
    defaultSize: '1366x768',
    hasSeed: true,
    hasLastFrame: true,
    needsText: true
  },
  {
    model: /^gemini_omni_flash_1\.1/,
    size: pixelsOf(['640:360', '360:640', ...hd, ...fullHd, '3840:2160', '2160:3840']),
    hasLastFrame: true,
    needsText: true
  },
  { model: /^gemini_omni/, size: pixelsOf(hd) }
]

/** A model that the SDK does not name yet. */
const unknownModel: RunwayModel = {
  size: task => ({ ratio: formatVideoSize(task, ':') }), sound: 'stated', hasSeed: true, hasLastFrame: true
}

function modelOf (name: string): RunwayModel {
  return models.find(({ model }) => model.test(name)) ?? unknownModel
}

/** What is stated of a model by default. */
export function runwayChoices (name: string): VideoChoices {
  const { seconds = 5, defaultSize: size = '1280x720', sound = 'always' } = modelOf(name)
  return { seconds, size, sound }
}

/** The body of a submit. Throws UpstreamError for what the model has no field for. */
export function bodyOf (task: VideoTask): JsonObject {
  const { size, lengths, hasSeed, hasLastFrame, needsText, needsPicture, sound } = modelOf(task.model)
  const frames = framesOf(task)
  if (hasSeed !== true) refuseSeed(task)
  if (hasLastFrame !== true) refuseLastFrame(task)
  if (needsPicture === true && frames === null) refuseOption('messages', 'needs a picture')
  if (task.prompt === '' && needsText === true) refuseOption('messages', 'needs a text besides the picture')
  return withoutNulls({
    model: task.model,
    promptText: task.prompt === '' ? null : task.prompt,
    promptImage: frames,
    duration: lengths === undefined ? task.seconds : secondsAmong(task, lengths),
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
