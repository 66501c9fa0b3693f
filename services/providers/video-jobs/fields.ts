import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { FrameImage, VideoTask } from '../provider-video.ts'

/** Removes fields that are null or undefined. */
export function withoutNulls (fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null))
}

/** The size as text, e.g. `1280x720`. */
export function formatVideoSize ({ size }: Pick<VideoTask, 'size'>, separator: string): string {
  return `${size.width}${separator}${size.height}`
}

export const commonAspectRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9']

/**
 * The one of `ratios` that was asked for, by itself or as the shape of a size; null if none was. Throws
 * UpstreamError if it is not among them.
 */
export function aspectRatioFor (task: VideoTask, ratios: readonly string[]): string | null {
  const { aspectRatio, isSizeAsked } = task
  if (aspectRatio === null && !isSizeAsked) return null
  return shapeOf(task, ratios)
}

/** The one of `ratios` that the video has. Throws UpstreamError if there is none. */
export function shapeOf ({ aspectRatio, size }: VideoTask, ratios: readonly string[]): string {
  const wanted = aspectRatio ?? formatVideoSize({ size }, ':')
  const found = nearest(ratios, quotient(wanted), quotient)
  if (found !== null && isAbout(quotient(found), quotient(wanted), tolerance.ratio)) return found
  return refuseOption(aspectRatio === null ? 'video.size' : 'video.aspect_ratio', `makes ${ratios.join(', ')}`)
}

/** For models whose video has the shape of its first frame. Throws UpstreamError if another was asked for. */
export function refuseRatio ({ aspectRatio }: VideoTask, why = 'takes the aspect ratio from the first frame'): null {
  return aspectRatio === null ? null : refuseOption('video.aspect_ratio', why)
}

/** For models without a seed. Throws UpstreamError if one was asked for. */
export function refuseSeed ({ seed }: VideoTask): void {
  if (seed !== null) refuseOption('seed', 'takes no seed')
}

/** For models without a last frame. Throws UpstreamError if there is one. */
export function refuseLastFrame ({ lastFrame }: VideoTask): void {
  if (lastFrame !== null) refuseOption('messages', 'takes no last frame')
}

/** The name of the resolution with as many pixels as the task's. Throws UpstreamError if there is none. */
export function resolutionFor<Name extends ResolutionName> (
  { size }: VideoTask, names: readonly Name[]
): Name {
  const wanted = size.width * size.height
  const found = nearest(names, wanted, name => pixels[name])
  if (found !== null && isAbout(pixels[found], wanted, tolerance.pixels)) return found
  return refuseOption('video.size', `makes ${names.join(', ')} (${names.map(name => pixels[name]).join(', ')} pixels)`)
}

/** The length in seconds, one of `lengths`. Throws UpstreamError if it is not among them. */
export function secondsAmong ({ seconds }: VideoTask, lengths: readonly number[]): number {
  return lengths.includes(seconds) ? seconds : refuseOption('video.seconds', `makes videos of ${lengths.join(', ')} seconds`)
}

/**
 * The one of `sizes`, `<width><separator><height>`, that the task has; if only an aspect ratio was asked for,
 * the nearest with as many pixels. Throws UpstreamError if there is none.
 */
export function sizeAmong (task: VideoTask, sizes: readonly string[]): string {
  const { size, isSizeAsked, aspectRatio } = task
  const wanted = size.width / size.height
  const fits = sizes.filter(text => {
    const [width = 0, height = 0] = text.split(/[x:*]/).map(Number)
    if (isSizeAsked) return width === size.width && height === size.height
    return isAbout(width * height, size.width * size.height, tolerance.pixels) &&
      isAbout(width / height, wanted, tolerance.ratio)
  })
  const found = nearest(fits, wanted, quotient)
  return found ?? refuseOption(aspectRatio === null ? 'video.size' : 'video.aspect_ratio', `makes ${sizes.join(', ')}`)
}

/** Pixels at 16:9; other aspect ratios of the same name have about as many. */
const pixels = {
  '360p': 640 * 360,
  '480p': 854 * 480,
  '480P': 854 * 480,
  '512p': 912 * 512,
  '512P': 912 * 512,
  '540p': 960 * 540,
  '720p': 1280 * 720,
  '720P': 1280 * 720,
  '768p': 1366 * 768,
  '768P': 1366 * 768,
  '1080p': 1920 * 1080,
  '1080P': 1920 * 1080,
  '1440p': 2560 * 1440,
  '2k': 2560 * 1440,
  '2K': 2560 * 1440,
  '2160p': 3840 * 2160,
  '4k': 3840 * 2160,
  '4K': 3840 * 2160
}

export type ResolutionName = keyof typeof pixels

/**
 * Sizes of one name differ by up to 6 % in pixels, as 960x416 and 864x496 do, and by up to 3 % from their
 * ratio.
 */
const tolerance = { pixels: 0.07, ratio: 0.04 }

const isAbout = (one: number, other: number, share: number): boolean => Math.abs(one / other - 1) <= share

function quotient (ratio: string): number {
  const [width = 1, height = 1] = ratio.split(/[:x*]/).map(Number)
  return width / height
}

/** The name whose measure is nearest to `wanted` on a logarithmic scale. */
function nearest<Name extends string> (
  names: readonly Name[], wanted: number, measure: (name: Name) => number
): Name | null {
  const distance = (name: Name) => Math.abs(Math.log(measure(name) / wanted))
  return names.toSorted((a, b) => distance(a) - distance(b))[0] ?? null
}

/**
 * Throws UpstreamError for a wish that the model of a request cannot be asked for; `what` completes its
 * sentence.
 */
export function refuseOption (param: string, what: string): never {
  throw new UpstreamError('bad_request', 'no', `The model at the provider ${what}.`, { param })
}

/** The prompt and the frames as a list of content parts; a single image is the first frame. */
export function contentParts ({ prompt, firstFrame, lastFrame }: VideoTask): JsonObject[] {
  const frames = [{ frame: firstFrame, role: 'first_frame' }, { frame: lastFrame, role: 'last_frame' }]
    .filter(({ frame }) => frame !== null)
  return [
    ...prompt === '' ? [] : [{ type: 'text', text: prompt }],
    ...frames.map(({ frame, role }) => ({ type: 'image_url', image_url: { url: frameUrl(frame) }, role }))
  ]
}

/** The URL of a frame, or its bytes as a data URL. */
export function frameUrl (frame: FrameImage | null): string | null {
  if (frame === null || 'url' in frame) return frame && frame.url
  return `data:${frame.mime};base64,${base64(frame.bytes)}`
}

/** The URL of a frame, or its bytes in plain base64. */
export function frameUrlOrBase64 (frame: FrameImage | null): string | null {
  if (frame === null || 'url' in frame) return frame && frame.url
  return base64(frame.bytes)
}

/** The bytes of a frame in base64 and their type. Throws UpstreamError for a URL. */
export function frameBytes (frame: FrameImage | null): { base64: string, mime: string } | null {
  if (frame === null) return null
  if ('url' in frame) return refuseOption('messages', 'accepts images as bytes only, not as URLs')
  return { base64: base64(frame.bytes), mime: frame.mime }
}

/** The URL of a frame. Throws UpstreamError for bytes. */
export function frameHttpUrl (frame: FrameImage | null): string | null {
  if (frame === null || 'url' in frame) return frame && frame.url
  return refuseOption('messages', 'accepts images as URLs only, not as bytes')
}

function base64 (bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
