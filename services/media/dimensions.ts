import { imageDimensionsFromData } from 'image-dimensions'
import { MediaRefused } from './errors.ts'

/** Longest side and most pixels of an image. A few bytes can declare more than any program could unpack. */
export const dimensionLimits = { side: 16_384, pixels: 100_000_000 } as const

/**
 * Width and height as the beginning of an image file declares them. Throws MediaRefused when there are none,
 * or too large ones.
 */
export function dimensionsOf (head: Uint8Array): { width: number, height: number } {
  const { width = 0, height = 0 } = imageDimensionsFromData(head) ?? {}
  if (width < 1 || height < 1) throw new MediaRefused('wrong_type', 'The image declares no width and height.')
  const { side, pixels } = dimensionLimits
  if (width > side || height > side || width * height > pixels) {
    throw new MediaRefused('too_many_pixels', `The image declares ${width}x${height} pixels, which is too many.`)
  }
  return { width, height }
}
