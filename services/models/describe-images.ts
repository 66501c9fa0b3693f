import type { Model } from '../../schemas/openai/models.ts'
import type { ImageAbilities } from '../catalogue/types.ts'
import { usdText } from '../shared/money.ts'

/** What clients are told of an image model: sizes, qualities and prices, under the names of gateway.yaml. */
export function describeImages (
  { sizes, sizeRange, defaultSize, qualities, prices }: ImageAbilities
): NonNullable<Model['images']> {
  return {
    ...(sizes === null ? {} : { sizes: [...sizes] }),
    ...(sizeRange === null
      ? {}
      : {
          size_range: {
            min: sizeRange.min,
            max: sizeRange.max,
            multiple_of: sizeRange.multipleOf,
            max_ratio: sizeRange.maxRatio,
            max_pixels: sizeRange.maxPixels
          }
        }),
    ...(defaultSize === null ? {} : { default_size: defaultSize }),
    ...(qualities === null ? {} : { qualities: [...qualities] }),
    ...(prices.length === 0 ? {} : { prices: prices.map(describePrice) })
  }
}

function describePrice ({ size, quality, imageNano, furtherMegapixelNano }: ImageAbilities['prices'][number]) {
  return {
    ...(size === null ? {} : { size }),
    ...(quality === null ? {} : { quality }),
    image: usdText(imageNano),
    ...(furtherMegapixelNano === 0 ? {} : { further_megapixel: usdText(furtherMegapixelNano) })
  }
}
