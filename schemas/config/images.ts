import { Type } from '@sinclair/typebox'
import { count, oneOf, strict, usd, type Known, type Parsed } from './fields.ts'

const imageSize = Type.String({
  pattern: '^[1-9]\\d{0,4}x[1-9]\\d{0,4}$', description: '`<width>x<height>` in pixels.', examples: ['1024x1024']
})
const imageQuality = oneOf(['standard', 'hd', 'low', 'medium', 'high', 'xhigh', 'max'], {
  description: 'One of the values clients send as `quality`.'
})

const SizeRangeEntry = Type.Object({
  min: count('Shortest side in pixels.', 1, 65_536, 1),
  max: count('Longest side in pixels.', 1, 65_536, 65_536),
  multiple_of: count('Both sides are multiples of this.', 1, 65_536, 1),
  max_ratio: Type.Number({ minimum: 1, maximum: 100, default: 100, description: 'Longest side / shortest side.' }),
  max_pixels: Type.Optional(count('Width × height. Default: `max` × `max`.', 1, 1_000_000_000))
}, { ...strict, description: 'Any size within these bounds, instead of `sizes` or in addition to them.' })
export type SizeRange = Known<Parsed<typeof SizeRangeEntry>, 'maxPixels'>

const ImagePriceEntry = Type.Object({
  size: Type.Optional(imageSize),
  quality: Type.Optional(imageQuality),
  image: usd('image'),
  further_megapixel: usd('additional megapixel (1024 × 1024 pixels) or part of one', { default: 0 })
}, { ...strict, description: 'Price of an image of this size and quality; of any if absent.' })

/** `images` of a model. */
export const ImagesEntry = Type.Object({
  sizes: Type.Optional(Type.Array(imageSize, {
    minItems: 1, maxItems: 200, description: 'Supported sizes, the default first.'
  })),
  size_range: Type.Optional(SizeRangeEntry),
  default_size: Type.Optional(imageSize),
  qualities: Type.Optional(Type.Array(imageQuality, {
    maxItems: 5, description: 'Supported qualities; an empty list for a model without a choice.'
  })),
  prices: Type.Optional(Type.Array(ImagePriceEntry, {
    minItems: 1, maxItems: 200, description: 'The first match applies; without a match, the price per image.'
  })),
  tokens: Type.Optional(count('Most output tokens of one image, for a model that is priced by tokens. Their price ' +
    'is held in advance.', 1, 1_000_000))
}, { ...strict, description: 'What an image model supports; other requests are rejected.' })

/** Nano-USD per image, and per additional megapixel (1024 × 1024) or part of one. */
export type ImagePrice = Omit<Parsed<typeof ImagePriceEntry>, 'quality'> & { quality: string | null }
