import type { ModelConfig, VideoAbilities } from '../config/catalogue/types.ts'
import { notPriced } from './token-price.ts'
import type { PricedChoices } from '../providers/provider-video.ts'

/** What a video may cost at most: its length at the present price. */
export interface VideoPrice { secondNano: number, seconds: number, maxNano: number }

/**
 * Prices a video by what is sent to the provider. A size has the price of one with about as many pixels, and
 * at least that of every smaller one. Throws GatewayError 400 for a model without a price.
 */
export function priceOf (model: ModelConfig, { seconds, size, audio }: PricedChoices): VideoPrice {
  const prices = model.video?.prices.filter(price => price.audio === null || price.audio === audio) ?? []
  const pixels = size.width * size.height
  const fit = prices.find(price => price.size === null || isAbout(pixelsIn(price.size), pixels))
  const isSmaller = ({ size }: SizePrice): boolean => size !== null && pixelsIn(size) < pixels
  const smaller = fit?.size == null ? prices.filter(isSmaller) : []
  const secondNano = fit?.secondNano ?? model.price?.secondNano ?? null
  if (secondNano === null) throw notPriced(model.id, 'videos')
  const leastNano = Math.max(secondNano, ...smaller.map(price => price.secondNano))
  return { secondNano: leastNano, seconds, maxNano: videoCostNano(leastNano, seconds) }
}

type SizePrice = VideoAbilities['prices'][number]

function pixelsIn (size: NonNullable<SizePrice['size']>): number {
  const [width = 0, height = 0] = size.split('x').map(Number)
  return width * height
}

/** Sizes of one resolution differ by up to 6 % in pixels. */
const isAbout = (one: number, other: number): boolean => Math.abs(one / other - 1) <= 0.07

/** Seconds at a price, rounded up to the next nano-USD; at most the largest safe integer. */
export function videoCostNano (secondNano: number, seconds: number): number {
  // A length such as 4.8 is not exact in binary, so lengths are rounded to microseconds first.
  return Math.min(Math.ceil(Math.round(seconds * 1e6) * secondNano / 1e6), Number.MAX_SAFE_INTEGER)
}

/** The greatest length of an unknown model, in seconds. */
export const unknownModel = { maxSeconds: 60 }
