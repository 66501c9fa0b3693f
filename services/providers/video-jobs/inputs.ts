import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { FrameImage, VideoTask } from '../provider-video.ts'

/** The fields that have a value. */
export function defined (fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null))
}

/** A size as text, e.g. `1280x720`; null when none is asked for. */
export function sizeText ({ size }: VideoTask, separator: string): string | null {
  return size && `${size.width}${separator}${size.height}`
}

/** The aspect ratio asked for, else the one of `ratios` nearest to the size; null when none is given. */
export function aspectRatioOf ({ aspectRatio, size }: VideoTask, ratios: readonly string[]): string | null {
  if (aspectRatio !== null || size === null) return aspectRatio
  return nearest(ratios, size.width / size.height, shape)
}

/** The aspect ratios that nearly every provider knows. */
export const usualRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9']

/** The provider's name for about as many pixels as the size has; null without a size. */
export function resolutionOf (
  { size }: VideoTask, names: readonly ResolutionName[]
): ResolutionName | null {
  return size && nearest(names, size.width * size.height, name => pixels[name])
}

/** Of texts `<width><separator><height>` the nearest to the aspect ratio asked for; null without one. */
export function sizeForRatio ({ aspectRatio }: VideoTask, sizes: readonly string[]): string | null {
  return aspectRatio && nearest(sizes, shape(aspectRatio), shape)
}

/** Pixels of the 16:9 picture; other shapes of the same name have about as many. */
const pixels = {
  '360p': 640 * 360,
  '480p': 854 * 480,
  '480P': 854 * 480,
  '540p': 960 * 540,
  '720p': 1280 * 720,
  '720P': 1280 * 720,
  '768p': 1366 * 768,
  '768P': 1366 * 768,
  '1080p': 1920 * 1080,
  '1080P': 1920 * 1080,
  '2k': 2560 * 1440,
  '2K': 2560 * 1440,
  '4k': 3840 * 2160
}
export type ResolutionName = keyof typeof pixels

function shape (ratio: string): number {
  const [width = 1, height = 1] = ratio.split(/[:x*]/).map(Number)
  return width / height
}

/** The one whose measure is nearest, by factor. */
function nearest<Name extends string> (
  names: readonly Name[], wanted: number, measure: (name: Name) => number
): Name | null {
  const distance = (name: Name) => Math.abs(Math.log(measure(name) / wanted))
  return names.toSorted((a, b) => distance(a) - distance(b))[0] ?? null
}

/** An address, or the bytes as a data URL. */
export function pictureUrl (picture: FrameImage | null): string | null {
  if (picture === null || 'url' in picture) return picture && picture.url
  return `data:${picture.mime};base64,${base64(picture.bytes)}`
}

/** An address, or the bytes in base64 without anything before them. */
export function pictureText (picture: FrameImage | null): string | null {
  if (picture === null || 'url' in picture) return picture && picture.url
  return base64(picture.bytes)
}

/** The bytes in base64 and their type. Throws UpstreamError for an address. */
export function pictureBytes (picture: FrameImage | null): { base64: string, mime: string } | null {
  if (picture === null) return null
  if ('url' in picture) throw unsent('takes pictures only as bytes, not as an address')
  return { base64: base64(picture.bytes), mime: picture.mime }
}

/** An address. Throws UpstreamError for bytes. */
export function pictureAddress (picture: FrameImage | null): string | null {
  if (picture === null || 'url' in picture) return picture && picture.url
  throw unsent('takes pictures only as an address, not as bytes')
}

function unsent (what: string): UpstreamError {
  return new UpstreamError('bad_request', 'no', `The provider ${what}.`, { param: 'messages' })
}

function base64 (bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
