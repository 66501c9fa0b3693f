import type { ModelConfig } from '../config/catalogue/types.ts'
import { fromUpstream } from '../http/upstream-errors.ts'
import type {
  JobTask, VideoChoices, VideoProvider, VideoSize, VideoTask, VideoOptions
} from '../providers/provider-video.ts'
import type { Candidate, ProviderOf } from '../requests/candidates.ts'
import { GatewayError, UpstreamError } from '../shared/errors.ts'
import { checkSeconds, isShape, refuseParam, toVideoSize } from './read-request.ts'

type VideoCandidate = Pick<Candidate<ProviderOf<'video'>>, 'deployment'> & { provider: { videos: VideoProvider } }

/**
 * Makes every choice that a price depends on: as in the request, else as configured, else as the provider
 * does by default. Returns the task and the candidates whose requests can state all of it. Throws
 * GatewayError 400 with the name of an option that none can state.
 */
export function makeChoices<C extends VideoCandidate> (
  options: VideoOptions, model: ModelConfig, candidates: readonly C[]
): { task: JobTask, able: C[] } {
  let refusal: unknown
  for (const { provider: { videos }, deployment } of candidates) {
    try {
      const task = complete(options, model, videos.choices(deployment.model))
      const able = candidates.filter(candidate => refusalOf(candidate, task, model) === null)
      if (able.length > 0) return { task, able }
      refusal ??= refusalOf(candidates[0], task, model)
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      refusal ??= error
    }
  }
  throw refusal
}

function complete (options: VideoOptions, model: ModelConfig, usual: VideoChoices): JobTask {
  const seconds = options.seconds ?? secondsOf(model, usual)
  checkSeconds(seconds, model)
  return {
    ...options,
    seconds,
    size: options.size ?? sizeOf(options, model, usual),
    audio: audioOf(options, model, usual),
    isSizeAsked: options.size !== null
  }
}

function secondsOf ({ video }: ModelConfig, usual: VideoChoices): number {
  const { defaultSeconds = null, seconds = null, maxSeconds = null } = video ?? {}
  if (defaultSeconds !== null) return defaultSeconds
  if (seconds !== null && !seconds.includes(usual.seconds)) return seconds[0] ?? usual.seconds
  return Math.min(usual.seconds, maxSeconds ?? Infinity)
}

/** The usual size, or one with as many pixels in the aspect ratio of the request. */
function sizeOf ({ aspectRatio }: VideoOptions, { id, video }: ModelConfig, usual: VideoChoices): VideoSize {
  const sizes = video?.sizes ?? null
  const isUsual = sizes === null || sizes.includes(usual.size)
  const size = toVideoSize(video?.defaultSize ?? (isUsual ? usual.size : sizes[0] ?? usual.size))
  if (aspectRatio === null) return size
  if (sizes === null) return withRatio(size, aspectRatio)
  const pixels = size.width * size.height
  const difference = (one: VideoSize) => Math.abs(Math.log(one.width * one.height / pixels))
  const [nearest] = sizes.map(toVideoSize).filter(one => isShape(one, aspectRatio))
    .toSorted((one, other) => difference(one) - difference(other))
  return nearest ?? refuseParam('video.aspect_ratio', `The model \`${id}\` makes videos of ${sizes.join(', ')}.`)
}

function withRatio (size: VideoSize, aspectRatio: string): VideoSize {
  if (isShape(size, aspectRatio)) return size
  const [across = 1, down = 1] = aspectRatio.split(':').map(Number)
  const ratio = across / down
  const even = (side: number): number => Math.max(2, Math.round(side / 2) * 2)
  const pixels = size.width * size.height
  return { width: even(Math.sqrt(pixels * ratio)), height: even(Math.sqrt(pixels / ratio)) }
}

function audioOf ({ audio }: VideoOptions, { id, video }: ModelConfig, { sound }: VideoChoices): boolean {
  if (sound === 'never' || video?.audio === false) {
    return audio === true ? refuseParam('video.audio', `The model \`${id}\` makes no sound.`) : false
  }
  if (sound === 'stated') return audio ?? video?.defaultAudio ?? false
  return audio === false ? refuseParam('video.audio', `The model \`${id}\` always makes sound.`) : true
}

/** Why a candidate cannot make the video; null if it can. */
function refusalOf (
  candidate: VideoCandidate | undefined, task: JobTask, model: ModelConfig
): GatewayError | null {
  if (candidate === undefined) return null
  const { provider: { videos }, deployment } = candidate
  try {
    audioOf(task, model, videos.choices(deployment.model))
    videos.check(toProbe(task, deployment.model, videos))
    return null
  } catch (error) {
    if (error instanceof GatewayError) return error
    if (error instanceof UpstreamError) return fromUpstream(error)
    throw error
  }
}

/** The task with pictures of a few bytes, in the only form that the provider takes. */
function toProbe (task: JobTask, model: string, { frameFormat }: VideoProvider): VideoTask {
  const picture = frameFormat === 'bytes'
    ? { bytes: new Uint8Array(1), mime: 'image/png' }
    : { url: 'https://images.example/frame.png' }
  const frame = (url: string | null) => url === null ? null : picture
  return { ...task, model, submitKey: '', firstFrame: frame(task.firstFrame), lastFrame: frame(task.lastFrame) }
}
