import type { ImageSize } from '../provider-image.ts'

/** The `<width>:<height>` of a list that is nearest to a size. */
export function nearestRatio ({ width, height }: ImageSize, ratios: readonly string[]): string | undefined {
  const distance = (ratio: string): number => {
    const [across = 1, down = 1] = ratio.split(':').map(Number)
    return Math.abs(Math.log((width * down) / (height * across)))
  }
  return ratios.toSorted((one, other) => distance(one) - distance(other))[0]
}

/** In units of 1024 × 1024 pixels, which is what providers call a megapixel. */
export function megapixelsOf ({ width, height }: ImageSize): number {
  return width * height / (1024 * 1024)
}
