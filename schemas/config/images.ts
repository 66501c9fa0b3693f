import { Type } from '@sinclair/typebox'
import { oneOf, strict, usd } from './fields.ts'

const imageSize = Type.String({
  pattern: '^[1-9]\\d{0,4}x[1-9]\\d{0,4}$', description: '`<width>x<height>` in pixels.', examples: ['1024x1024']
})
const imageQuality = oneOf(['standard', 'hd', 'low', 'medium', 'high'], { description: 'As clients ask for it.' })
const pixels = (description: string) => {
  return Type.Optional(Type.Integer({ minimum: 1, maximum: 65_536, description }))
}

const SizeRangeEntry = Type.Object({
  min: pixels('Shortest side. Default: 1.'),
  max: pixels('Longest side. Default: 65536.'),
  multiple_of: pixels('What both sides must be a multiple of. Default: 1.'),
  max_ratio: Type.Optional(Type.Number({
    minimum: 1, maximum: 100, description: 'Longest side by shortest side. Default: 100.'
  })),
  max_pixels: Type.Optional(Type.Integer({
    minimum: 1, maximum: 1_000_000_000, description: 'Width by height. Default: `max` by `max`.'
  }))
}, {
  ...strict,
  description: 'For a model that can make any size within bounds, instead of `sizes` or beside them.'
})

const ImagePriceEntry = Type.Object({
  size: Type.Optional(imageSize),
  quality: Type.Optional(imageQuality),
  image: usd('image', 9),
  further_megapixel: Type.Optional(usd('megapixel (1024 × 1024 pixels) begun beyond the first', 9))
}, { ...strict, description: 'Price of an image of this size and quality; of any, where none is given.' })

/** `images` of a model. */
export const ImagesEntry = Type.Object({
  sizes: Type.Optional(Type.Array(imageSize, {
    minItems: 1, maxItems: 200, description: 'The sizes it can make, the usual one first.'
  })),
  size_range: Type.Optional(SizeRangeEntry),
  default_size: Type.Optional(imageSize),
  qualities: Type.Optional(Type.Array(imageQuality, {
    maxItems: 5, description: 'The qualities it can make; none for a model that has no choice.'
  })),
  prices: Type.Optional(Type.Array(ImagePriceEntry, {
    minItems: 1, maxItems: 200, description: 'The first that fits holds; if none does, the price per image.'
  })),
  tokens: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    description: 'Most output tokens of one image, for a model that is priced by tokens. So much is held.'
  }))
}, { ...strict, description: 'What an image model can do; clients are refused anything else.' })
