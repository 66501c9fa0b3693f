import { imageDimensionsFromData } from 'image-dimensions'
import { MediaRejected } from './errors.ts'

/** Limits on decompression bombs: a few bytes can declare an image that no program can decode. */
export const dimensionLimits = { side: 16_384, pixels: 100_000_000 } as const

/** Width and height in pixels from the head of an image file. Throws MediaRejected if absent or too large. */
export function readDimensions (head: Uint8Array): { width: number, height: number } {
  const { width = 0, height = 0 } = imageDimensionsFromData(head) ?? {}
  if (width < 1 || height < 1) throw new MediaRejected('wrong_type', 'The image has no width and height.')
  const { side, pixels } = dimensionLimits
  if (width > side || height > side || width * height > pixels) {
    throw new MediaRejected('too_many_pixels', `The image is too large: ${width}x${height} pixels.`)
  }
  return { width, height }
}
