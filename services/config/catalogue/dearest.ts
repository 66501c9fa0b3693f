import type { CataloguePrice, CatalogueRow, CatalogueTier } from './catalogue-file.ts'

/** What a model of the catalogue costs by the token. */
export type Cost = Pick<CatalogueRow, 'price' | 'tiers'>

export const rateNames = [
  'inputPico', 'outputPico', 'cacheReadPico', 'cacheWritePico', 'cacheWrite1hPico', 'audioInputPico', 'audioOutputPico'
] as const

/** The dearest of each rate, at each length. At least one of the costs has a price. */
export function dearest (costs: readonly Cost[]): Required<Pick<Cost, 'price'>> & Cost {
  const tiers = dearestTiers(costs)
  return { price: dearestOf(costs.flatMap(({ price }) => price ?? [])), ...(tiers.length > 0 && { tiers }) }
}

function dearestTiers (costs: readonly Cost[]): CatalogueTier[] {
  const lengths = [...new Set(costs.flatMap(({ tiers = [] }) => tiers.map(tier => tier.aboveTokens)))]
  return lengths.toSorted((one, other) => one - other).map(aboveTokens => {
    const found = costs.flatMap(cost => ratesAbove(cost, aboveTokens) ?? [])
    const { audioInputPico, audioOutputPico, ...rates } = dearestOf(found)
    return { ...rates, aboveTokens }
  })
}

/** The rates of a prompt that is longer than `tokens`. */
export function ratesAbove ({ price, tiers = [] }: Cost, tokens: number): CataloguePrice | undefined {
  return tiers.findLast(({ aboveTokens }) => aboveTokens <= tokens) ?? price
}

function dearestOf (prices: readonly CataloguePrice[]): CataloguePrice {
  const rates = rateNames.flatMap(name => {
    const known = prices.map(price => price[name]).filter(pico => pico !== undefined)
    return known.length === 0 ? [] : [[name, Math.max(...known)] as const]
  })
  return { inputPico: 0, outputPico: 0, ...Object.fromEntries(rates) }
}

/** A cost that states the rates of cached tokens, which are those of other tokens where it has none. */
export function completed ({ price, tiers }: Cost): Cost {
  const complete = <Rates extends CataloguePrice>(rates: Rates): Rates => {
    const { inputPico, cacheReadPico = inputPico, cacheWritePico = inputPico } = rates
    return { ...rates, cacheReadPico, cacheWritePico }
  }
  return { ...(price && { price: complete(price) }), ...(tiers && { tiers: tiers.map(complete) }) }
}
