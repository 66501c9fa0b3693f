import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { nearestAspectRatio } from '../image-api/aspect-ratio.ts'
import type { FrameImage, VideoTask } from '../provider-video.ts'

/** Removes fields that are null or undefined. */
export function withoutNulls (fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => (value ?? null) !== null))
}

/** The requested size as text, e.g. `1280x720`; null if none is requested. */
export function formatVideoSize ({ size }: VideoTask, separator: string): string | null {
  return size && `${size.width}${separator}${size.height}`
}

/** The requested aspect ratio, else the nearest of `ratios` to the requested size, else null. */
export function aspectRatioFor ({ aspectRatio, size }: VideoTask, ratios: readonly string[]): string | null {
  if (aspectRatio !== null || size === null) return aspectRatio
  return nearestAspectRatio(size, ratios) ?? null
}

export const commonAspectRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '21:9']

/** The resolution nearest to the requested size; null if none is requested. */
export function resolutionFor ({ size }: VideoTask, names: readonly ResolutionName[]): ResolutionName | null {
  return size && nearest(names, size.width * size.height, name => pixels[name])
}

/** The size `<width><separator><height>` nearest to the requested aspect ratio; null if none is requested. */
export function sizeForRatio ({ aspectRatio }: VideoTask, sizes: readonly string[]): string | null {
  return aspectRatio && nearest(sizes, quotient(aspectRatio), quotient)
}

/** Pixels at 16:9; other aspect ratios of the same name have about as many. */
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

/** The prompt and the frames as a list of content parts; a single image is the first frame. */
export function contentParts ({ prompt, firstFrame, lastFrame }: VideoTask): JsonObject[] {
  const frames = [{ frame: firstFrame, role: 'first_frame' }, { frame: lastFrame, role: 'last_frame' }]
    .filter(({ frame }) => frame !== null)
  return [
    { type: 'text', text: prompt },
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
  if ('url' in frame) throw unsupported('accepts images as bytes only, not as URLs')
  return { base64: base64(frame.bytes), mime: frame.mime }
}

/** The URL of a frame. Throws UpstreamError for bytes. */
export function frameHttpUrl (frame: FrameImage | null): string | null {
  if (frame === null || 'url' in frame) return frame && frame.url
  throw unsupported('accepts images as URLs only, not as bytes')
}

function unsupported (what: string): UpstreamError {
  return new UpstreamError('bad_request', 'no', `The provider ${what}.`, { param: 'messages' })
}

function base64 (bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}
