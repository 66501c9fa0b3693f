import type { ImageSize } from '../provider-image.ts'

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
