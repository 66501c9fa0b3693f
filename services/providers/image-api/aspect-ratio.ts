import { UpstreamError } from '../../shared/errors.ts'
import { sizeText, type ImageSize } from '../provider-image.ts'

/** The ratio `<width>:<height>` nearest to a size. */
export function nearestAspectRatio (
  { width, height }: ImageSize, ratios: readonly string[]
): string | undefined {
  const distance = (ratio: string): number => {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    return Math.abs(Math.log((width * down) / (height * across)))
  }
  return ratios.toSorted((one, other) => distance(one) - distance(other))[0]
}

/** Sizes of one ratio are rounded to pixels that a model makes, and differ by so much. */
const tolerance = 0.04

/**
 * The one of `ratios` that a size has, for models that take no other statement of it. Throws UpstreamError
 * if it has none of them.
 */
export function statedAspectRatio (size: ImageSize, ratios: readonly string[]): string {
  const ratio = nearestAspectRatio(size, ratios)
  const [across = 1, down = 1] = (ratio ?? '').split(':').map(Number)
  const isAbout = Math.abs((size.width * down) / (size.height * across) - 1) <= tolerance
  return ratio !== undefined && isAbout ? ratio : unstatedSize(`makes ${ratios.join(', ')}, not ${sizeText(size)}`)
}

/** Throws UpstreamError for a size that a model cannot be asked for; `what` completes its sentence. */
export function unstatedSize (what: string): never {
  throw new UpstreamError('bad_request', 'no', `The model at the provider ${what}.`, { param: 'size' })
}

/** A size as a ratio in lowest terms, `<width>:<height>`. */
export function reducedRatio ({ width, height }: ImageSize): string {
  const divisor = (one: number, other: number): number => other === 0 ? one : divisor(other, one % other)
  const common = divisor(width, height)
  return `${width / common}:${height / common}`
}

/** Megapixels as providers count them: 1024 × 1024 pixels. */
export function megapixelsOf ({ width, height }: ImageSize): number {
  return width * height / (1024 * 1024)
}
