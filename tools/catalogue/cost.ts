import { Type } from '@sinclair/typebox'
import type { Static } from '@sinclair/typebox'
import { picoFromUsdPerMillion } from '../../services/shared/money.ts'
import type { CataloguePrice, CatalogueRow, CatalogueTier } from '../../services/config/catalogue/catalogue-file.ts'

/** The media that a model of models.dev reads or generates. */
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
  // Other spellings of the same two, used by some providers.
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

/** The price of a model by the token. */
type Cost = Pick<CatalogueRow, 'price' | 'tiers'>

/**
 * Reads a cost without rounding. A price that does not cover everything a request can use is omitted, and
 * `note` is called with the reason.
 */
export function readCost (
  cost: SourceCost | undefined, output: readonly SourceMedium[], note: (text: string) => void
): Cost {
  if (cost === undefined) return {}
  const reason = reasonToOmit(cost, output)
  if (reason !== null) {
    note(`price omitted: ${reason}`)
    return {}
  }
  const price = { ...toPrice(cost), ...toAudioPrice(cost) }
  if (price.cacheWritePico !== undefined && price.cacheWritePico < price.inputPico) {
    note('cache_write omitted: it is a storage fee on top of the input price')
    return { price: { ...price, cacheWritePico: undefined }, tiers: toTiers(cost) }
  }
  return { price, tiers: toTiers(cost) }
}

/** Why a cost cannot be expressed as a price by the token; null if it can. */
function reasonToOmit (cost: SourceCost, output: readonly SourceMedium[]): string | null {
  const unknown = Object.keys(cost).filter(key => !Object.hasOwn(sourceCost.properties, key))
  if (unknown.length > 0) return `it has other charges, ${unknown.join(', ')}`
  const otherTier = cost.tiers?.find(({ tier: { type = 'context' } }) => type !== 'context')
  if (otherTier !== undefined) return `its tiers are by ${otherTier.tier.type}`
  const inexact = [cost, ...cost.tiers ?? [], ...toArray(cost.context_over_200k)].flatMap(digitsOf)
    .find(digits => !isPrice(digits))
  if (inexact !== undefined) return `${inexact} has more than 6 decimals`
  if (Number(cost.reasoning ?? cost.output) !== Number(cost.output)) return 'reasoning has a price of its own'
  const isFree = pico(cost.output) === 0
  if (isFree && pico(cost.input) > 0) return 'the output price is missing'
  if (isFree && output.some(medium => medium !== 'text')) return 'the price of output other than text is missing'
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
  // `tiers` is the newer field and includes the older one.
  if (tiers === undefined) return over200k && [{ aboveTokens: 200_000, ...toPrice(over200k) }]
  return tiers.map(rates => ({ aboveTokens: Number(rates.tier.size), ...toPrice(rates) }))
    .toSorted((one, other) => one.aboveTokens - other.aboveTokens)
}

/** The prices of audio that differ from those of text. */
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
