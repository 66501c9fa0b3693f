import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { picoFromUsdPerMillion } from '../../services/shared/money.ts'
import type { CataloguePrice, CatalogueRow, CatalogueTier } from '../../services/catalogue/catalogue-file.ts'

/** What a model of models.dev reads or makes. */
export const sourceMedium = Type.Union([
  Type.Literal('text'), Type.Literal('image'), Type.Literal('audio'), Type.Literal('video'), Type.Literal('pdf')
])
export type SourceMedium = Static<typeof sourceMedium>

/** A price of models.dev: USD per million tokens, each number as the text of its digits. */
const usd = Type.String({ pattern: '^\\d+(\\.\\d+)?(e[+-]?\\d+)?$' })
const rates = {
  input: usd,
  output: usd,
  cache_read: Type.Optional(usd),
  cache_write: Type.Optional(usd),
  // Two spellings of the same that some providers have.
  cached_input: Type.Optional(usd),
  cached_write: Type.Optional(usd)
}
const sourceRates = Type.Object(rates)
type Rates = Static<typeof sourceRates>

/** The `cost` of a model of models.dev. */
export const sourceCost = Type.Object({
  ...rates,
  reasoning: Type.Optional(usd),
  input_audio: Type.Optional(usd),
  output_audio: Type.Optional(usd),
  tiers: Type.Optional(Type.Array(Type.Object({
    ...rates,
    tier: Type.Object({ type: Type.Optional(Type.String()), size: Type.String({ pattern: '^\\d+$' }) })
  }))),
  context_over_200k: Type.Optional(sourceRates)
})
export type SourceCost = Static<typeof sourceCost>

/** What can be sold by the token. */
type Cost = Pick<CatalogueRow, 'price' | 'tiers'>

/**
 * Reads a cost to the last digit. A price that does not hold for everything a request can use is left out
 * whole, and `note` is told why.
 */
export function readCost (
  cost: SourceCost | undefined, output: readonly SourceMedium[], note: (text: string) => void
): Cost {
  if (cost === undefined) return {}
  const obstacle = obstacleIn(cost, output)
  if (obstacle !== null) {
    note(`price left out: ${obstacle}`)
    return {}
  }
  const price = { ...toPrice(cost), ...toAudioPrice(cost) }
  if (price.cacheWritePico !== undefined && price.cacheWritePico < price.inputPico) {
    note('cache_write left out: it is a fee for storage, on top of the input')
    return { price: { ...price, cacheWritePico: undefined }, tiers: toTiers(cost) }
  }
  return { price, tiers: toTiers(cost) }
}

/** Why a cost cannot be a price by the token; null when it can. */
function obstacleIn (cost: SourceCost, output: readonly SourceMedium[]): string | null {
  const unknown = Object.keys(cost).filter(key => !Object.hasOwn(sourceCost.properties, key))
  if (unknown.length > 0) return `there are charges besides, ${unknown.join(', ')}`
  const otherTier = cost.tiers?.find(({ tier: { type = 'context' } }) => type !== 'context')
  if (otherTier !== undefined) return `its tiers are by ${otherTier.tier.type}`
  const inexact = [cost, ...cost.tiers ?? [], ...toArray(cost.context_over_200k)].flatMap(digitsOf)
    .find(digits => !isPrice(digits))
  if (inexact !== undefined) return `${inexact} has more than 6 decimals`
  if (Number(cost.reasoning ?? cost.output) !== Number(cost.output)) return 'reasoning costs other than the answer'
  const isFree = pico(cost.output) === 0
  if (isFree && pico(cost.input) > 0) return 'the output has none'
  if (isFree && output.some(medium => medium !== 'text')) return 'the source knows none for what is no text'
  return null
}

function toPrice (rates: Rates): CataloguePrice {
  const read = rates.cache_read ?? rates.cached_input
  const write = rates.cache_write ?? rates.cached_write
  return {
    inputPico: pico(rates.input),
    outputPico: pico(rates.output),
    cacheReadPico: read === undefined ? undefined : pico(read),
    cacheWritePico: write === undefined ? undefined : pico(write)
  }
}

function toTiers ({ tiers, context_over_200k: over200k }: SourceCost): CatalogueTier[] | undefined {
  // The newer field says the same and more.
  if (tiers === undefined) return over200k && [{ aboveTokens: 200_000, ...toPrice(over200k) }]
  return tiers.map(rates => ({ aboveTokens: Number(rates.tier.size), ...toPrice(rates) }))
    .toSorted((one, other) => one.aboveTokens - other.aboveTokens)
}

/** What audio costs, where that is not what text costs. */
function toAudioPrice (cost: SourceCost): Pick<CataloguePrice, 'audioInputPico' | 'audioOutputPico'> {
  const { input_audio: input, output_audio: output } = cost
  return {
    ...(input === undefined || pico(input) === pico(cost.input) ? {} : { audioInputPico: pico(input) }),
    ...(output === undefined || pico(output) === pico(cost.output) ? {} : { audioOutputPico: pico(output) })
  }
}

function digitsOf (of: Rates & Pick<SourceCost, 'input_audio' | 'output_audio'>): string[] {
  const names = ['input', 'output', 'cache_read', 'cache_write', 'cached_input', 'cached_write', 'input_audio',
    'output_audio'] as const
  return names.map(name => of[name]).filter(digits => digits !== undefined)
}

function isPrice (rate: string): boolean {
  try {
    return pico(rate) >= 0
  } catch {
    return false
  }
}

const pico = picoFromUsdPerMillion

function toArray<T> (value: T | undefined): T[] {
  return value === undefined ? [] : [value]
}
