import type { CataloguePrice, CatalogueTier } from '../config/catalogue/catalogue-file.ts'
import { completed, dearest, type Cost } from '../config/catalogue/dearest.ts'
import { unknownImages } from '../config/catalogue/images.ts'
import { emptyPrice } from '../config/catalogue/models.ts'
import type { ModelConfig, Price, PriceTier } from '../config/catalogue/types.ts'
import { unknownVideo } from '../config/catalogue/videos.ts'
import type { StatedModel } from '../providers/provider.ts'

/** A model at the dearer of its price and of what its provider states, rate by rate. */
export function withStatedPrice (model: ModelConfig, stated: StatedModel | undefined): ModelConfig {
  if (stated === undefined) return model
  if (model.kind === 'video') return withVideo(model, stated)
  if (model.kind === 'image') return withImages(model, stated)
  return stated.cost === undefined ? model : { ...model, price: dearerPrice(model.price, stated.cost) }
}

function dearerPrice (price: Price | null, { searchNano = 0, ...stated }: NonNullable<StatedModel['cost']>): Price {
  const before = price === null ? null : costIn(price)
  const { price: rates, tiers } = before === null ? stated : dearest([before, stated].map(completed))
  const search = Math.max(price?.searchNano ?? 0, searchNano)
  return {
    ...price ?? emptyPrice, ...rates, ...(tiers && { tiers }), ...(search > 0 && { searchNano: search })
  }
}

/** The rates of a price by the token; null without. */
function costIn ({ inputPico, outputPico, tiers, ...others }: Price): Cost | null {
  if (inputPico === null || outputPico === null) return null
  return {
    price: { ...ratesIn(others), inputPico, outputPico },
    ...(tiers && { tiers: tiers.map(toTier) })
  }
}

function toTier ({ aboveTokens, inputPico, outputPico, ...others }: PriceTier): CatalogueTier {
  return { ...ratesIn(others), aboveTokens, inputPico, outputPico }
}

/** The rates of cached tokens and of audio, without those that are unknown. */
function ratesIn (
  rates: { [Name in typeof optionalRates[number]]?: number | null }
): Partial<CataloguePrice> {
  return Object.fromEntries(optionalRates.flatMap(name => rates[name] == null ? [] : [[name, rates[name]]]))
}

const optionalRates = [
  'cacheReadPico', 'cacheWritePico', 'cacheWrite1hPico', 'audioInputPico', 'audioOutputPico'
] as const

function withVideo (model: ModelConfig, { video: stated }: StatedModel): ModelConfig {
  if (stated === undefined) return model
  const { prices, ...abilities } = stated
  const known = model.video ?? { ...unknownVideo, ...abilities }
  const raised = known.prices.map(row => {
    const same = prices.filter(({ size, audio }) => isFor(row.size, size) && isFor(row.audio, audio))
    return { ...row, secondNano: Math.max(row.secondNano, ...same.map(({ secondNano }) => secondNano)) }
  })
  return { ...model, video: { ...known, prices: raised.length === 0 ? [...prices] : raised } }
}

function withImages (model: ModelConfig, { images: stated }: StatedModel): ModelConfig {
  if (stated === undefined || model.price?.outputPico != null) return model
  const { prices, ...abilities } = stated
  const known = model.images ?? { ...unknownImages, ...abilities }
  const raised = known.prices.map(row => {
    const same = prices.filter(({ size, quality }) => isFor(row.size, size) && isFor(row.quality, quality))
    return { ...row, imageNano: Math.max(row.imageNano, ...same.map(({ imageNano }) => imageNano)) }
  })
  const all = raised.length === 0 ? prices : raised
  if (all.length === 0) return model
  const imageNano = Math.max(...all.map(price => price.imageNano))
  return { ...model, images: { ...known, prices: all }, price: { ...model.price ?? emptyPrice, imageNano } }
}

/** Whether a stated choice, null for any, applies to a row. */
function isFor<Choice> (row: Choice, stated: Choice | null): boolean {
  return stated === null || stated === row
}
