import type { VideoAbilities } from '../../config/catalogue/types.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import type { StatedModel } from '../provider.ts'
import { nanoDecimals, statedUsd } from '../stated-price.ts'

type Prices = VideoAbilities['prices']

/**
 * Reads OpenRouter's `/videos/models`: what each model does, and its prices per second of video. Source:
 * @openrouter/sdk 1.3.19, VideoModel.
 */
export function readVideoModels (list: unknown): Map<string, StatedModel> {
  const rows = isObject(list) && Array.isArray(list.data) ? list.data.filter(isObject) : []
  return new Map(rows.flatMap(row => {
    return isText(row.id) ? [[row.id, { kind: 'video' as const, video: videoOf(row) }]] : []
  }))
}

function videoOf (row: JsonObject): NonNullable<StatedModel['video']> {
  const seconds = numbersIn(row.supported_durations)
  const frames = textsIn(row.supported_frame_images) ?? []
  const firstFrame = frames.includes('first_frame')
  return {
    seconds,
    maxSeconds: seconds && Math.max(...seconds),
    sizes: textsIn(row.supported_sizes)?.filter(size => /^\d{2,5}x\d{2,5}$/.test(size)) ?? null,
    aspectRatios: textsIn(row.supported_aspect_ratios)?.filter(ratio => /^\d{1,3}:\d{1,3}$/.test(ratio)) ?? null,
    audio: row.generate_audio !== false,
    firstFrame,
    lastFrame: firstFrame && frames.includes('last_frame'),
    prices: pricesOf(row, seconds?.[0] ?? 1, frames.length)
  }
}

/** Sizes at 16:9 that stand for the names of resolutions. */
const sizes: Readonly<Record<string, string>> = {
  '360p': '640x360',
  '480p': '854x480',
  '540p': '960x540',
  '720p': '1280x720',
  '768p': '1366x768',
  '1080p': '1920x1080',
  '2k': '2560x1440',
  '4k': '3840x2160'
}

/** Prices of what the gateway never sends: references, and videos to change. */
const unsent = /^reference|with_video_input|continuation|megapixel/
const perSecond = new RegExp('^(?:text_to_video_|image_to_video_)?' +
  '(duration_seconds|cents_per_second_output|cents_per_video_output_second|video_tokens)' +
  '(?:_(with|without)_audio)?(?:_(\\d+p|[24]k))?(?:_(with|without)_audio)?$')
/** Frames per second of models that are priced by the video token, of 1024 pixels. */
const tokenFrames = 24

/**
 * The prices per second, dearest first among equals. A fee per picture, and the least price of a video, are
 * added to those of the shortest video. None if one of the prices has another unit.
 */
function pricesOf (row: JsonObject, shortest: number, frames: number): Prices {
  const {
    cents_per_image_input: picture = 0, minimum_cents_per_generation: least = 0, ...rest
  } = Object(row.pricing_skus)
  const names = Object.keys(rest).filter(name => !unsent.test(name))
  const picturesNano = (statedUsd(picture, nanoDecimals - 2) ?? Infinity) * frames / shortest
  const leastNano = (statedUsd(least, nanoDecimals - 2) ?? Infinity) / shortest
  const read = names.map(name => priceNamed(name, rest[name], row))
  if (read.includes(null) || !Number.isFinite(picturesNano + leastNano)) return []
  return read.flatMap(one => one ?? [])
    .map(one => ({ ...one, secondNano: Math.ceil(Math.max(one.secondNano + picturesNano, leastNano)) }))
    .toSorted((one, other) => choicesIn(other) - choicesIn(one) || other.secondNano - one.secondNano)
}

function choicesIn ({ size, audio }: Prices[number]): number {
  return (size === null ? 0 : 2) + (audio === null ? 0 : 1)
}

/** The prices of one name; null if it has an unknown unit or form. */
function priceNamed (name: string, value: unknown, row: JsonObject): Prices | null {
  const [, unit, before, resolution, after] = perSecond.exec(name) ?? []
  const nano = statedUsd(value, unit?.startsWith('cents') ? nanoDecimals - 2 : nanoDecimals)
  const size = resolution === undefined ? null : sizes[resolution] ?? undefined
  if (unit === undefined || nano === undefined || size === undefined) return null
  const sound = before ?? after
  const audio = sound === undefined ? null : sound === 'with'
  if (unit !== 'video_tokens') return [{ size, audio, secondNano: nano }]
  const priced = size === null ? sizesOf(row) : [size]
  return priced.map(one => ({ size: one, audio, secondNano: tokensNano(one, value) }))
}

/** The sizes of a model; those of its resolutions if it has no list of sizes. */
function sizesOf (row: JsonObject): string[] {
  const listed = textsIn(row.supported_sizes)
  const named = textsIn(row.supported_resolutions)?.map(name => sizes[name.toLowerCase()]).filter(isText)
  return listed ?? named ?? []
}

function tokensNano (size: string, usd: unknown): number {
  const [width = 0, height = 0] = size.split('x').map(Number)
  const tokens = width * height * tokenFrames / 1024
  return Math.ceil(Number((Number(usd) * tokens * 10 ** nanoDecimals).toPrecision(15)))
}

function textsIn (value: unknown): string[] | null {
  return Array.isArray(value) && value.length > 0 && value.every(isText) ? value : null
}

function numbersIn (value: unknown): number[] | null {
  const isLength = (one: unknown): boolean => Number.isFinite(one) && Number(one) > 0
  const isLengths = Array.isArray(value) && value.length > 0 && value.every(isLength)
  return isLengths ? value.toSorted((one, other) => one - other) : null
}
