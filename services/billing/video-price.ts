import type { ModelConfig } from '../catalogue/types.ts'
import { notPriced } from './token-price.ts'
import type { JobTask } from '../providers/provider-video.ts'

/** What a video may cost at most: its greatest length at the present price. */
export interface VideoPrice { secondNano: number, seconds: number, maxNano: number }

/** Prices a video. Throws GatewayError 400 for a model without a price. */
export function priceOf (model: ModelConfig, task: JobTask): VideoPrice {
  const size = task.size === null ? null : `${task.size.width}x${task.size.height}`
  const audio = task.audio ?? false
  const special = model.video?.prices.find(price =>
    (price.size === null || price.size === size) && (price.audio === null || price.audio === audio))
  const secondNano = special?.secondNano ?? model.price?.secondNano ?? null
  if (secondNano === null) throw notPriced(model.id, 'videos')
  const seconds = task.seconds ?? model.video?.maxSeconds ?? unknownModel.seconds
  return { secondNano, seconds, maxNano: videoCostNano(secondNano, seconds) }
}

/** Seconds at a price, rounded up to the next nano-USD; at most the largest safe integer. */
export function videoCostNano (secondNano: number, seconds: number): number {
  // A length such as 4.8 is not exact in binary, so lengths are rounded to microseconds first.
  return Math.min(Math.ceil(Math.round(seconds * 1e6) * secondNano / 1e6), Number.MAX_SAFE_INTEGER)
}

/** Lengths assumed for an unknown model, in seconds. */
export const unknownModel = { seconds: 15, mostSeconds: 60 }
