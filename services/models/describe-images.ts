import type { Model } from '../../schemas/openai/models.ts'
import type { ImageAbilities } from '../catalogue/types.ts'
import { usdText } from '../shared/money.ts'

/** What clients are told of an image model: sizes, qualities and prices, under the names of gateway.yaml. */
export function describeImages (
  { sizes, range, defaultSize, qualities, prices }: ImageAbilities
): NonNullable<Model['images']> {
  return {
    ...(sizes === null ? {} : { sizes: [...sizes] }),
    ...(range === null
      ? {}
      : {
          size_range: {
            min: range.min,
            max: range.max,
            multiple_of: range.multipleOf,
            max_ratio: range.maxRatio,
            max_pixels: range.maxPixels
          }
        }),
    ...(defaultSize === null ? {} : { default_size: defaultSize }),
    ...(qualities === null ? {} : { qualities: [...qualities] }),
    ...(prices.length === 0 ? {} : { prices: prices.map(describePrice) })
  }
}

function describePrice ({ size, quality, imageNano, megapixelNano }: ImageAbilities['prices'][number]) {
  return {
    ...(size === null ? {} : { size }),
    ...(quality === null ? {} : { quality }),
    image: usdText(imageNano),
    ...(megapixelNano === 0 ? {} : { further_megapixel: usdText(megapixelNano) })
  }
}
