import type { CataloguePrice, CatalogueTier } from '../../config/catalogue/catalogue-file.ts'
import { dearest } from '../../config/catalogue/dearest.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import type { StatedModel } from '../provider.ts'
import { nanoDecimals, picoDecimals, statedUsd } from '../stated-price.ts'

type Cost = NonNullable<StatedModel['cost']>

/** The rates that are sold, by OpenRouter's names. Tokens of thoughts cost what other output does. */
const rateNames: Readonly<Record<string, keyof CataloguePrice>> = {
  prompt: 'inputPico',
  completion: 'outputPico',
  input_cache_read: 'cacheReadPico',
  input_cache_write: 'cacheWritePico',
  input_cache_write_1h: 'cacheWrite1hPico',
  audio: 'audioInputPico',
  audio_output: 'audioOutputPico'
}

/**
 * Reads `pricing` of a row of OpenRouter's `/models`: texts in USD per token, each rounded up to pico-USD. A
 * discount is left out. Undefined if a rate is missing, below zero (routers) or charged per request or
 * picture. Source: @openrouter/sdk 1.3.19, PublicPricing and PricingOverride.
 */
export function openRouterCostOf (pricing: unknown): Cost | undefined {
  if (!isObject(pricing)) return undefined
  const price = priceOf(pricing, {})
  if (price === undefined || hasOtherFees(pricing, price)) return undefined
  const overrides = Array.isArray(pricing.overrides) ? pricing.overrides.filter(isObject) : []
  const searchNano = statedUsd(pricing.web_search, nanoDecimals)
  const tiers = overrides.map(one => tierOf(one, price))
  if (tiers.includes(undefined)) return undefined
  return {
    ...withTiers(price, tiers.filter(tier => tier !== undefined)),
    ...(searchNano && { searchNano })
  }
}

/** The rates of a row, or of an override of `base`. Undefined if one cannot be read. */
function priceOf (pricing: JsonObject, base: Partial<CataloguePrice>): CataloguePrice | undefined {
  const rates: Partial<CataloguePrice> = { ...base }
  for (const [name, rate] of Object.entries(rateNames)) {
    if (pricing[name] == null) continue
    const pico = statedUsd(pricing[name], picoDecimals)
    if (pico === undefined) return undefined
    rates[rate] = pico
  }
  const { inputPico, outputPico } = rates
  if (inputPico === undefined || outputPico === undefined) return undefined
  const thoughtsPico = statedUsd(pricing.internal_reasoning ?? 0, picoDecimals) ?? 0
  return { ...rates, inputPico, outputPico: Math.max(outputPico, thoughtsPico) }
}

/** Whether a request, or a picture beside its tokens, has a price of its own. */
function hasOtherFees ({ request, image }: JsonObject, { inputPico }: CataloguePrice): boolean {
  const imagePico = statedUsd(image ?? 0, picoDecimals) ?? Infinity
  return statedUsd(request ?? 0, picoDecimals) !== 0 || imagePico > inputPico
}

/** An override by length, or by time: that applies at any length, as it may at any time. */
function tierOf (override: JsonObject, base: CataloguePrice): CatalogueTier | undefined {
  const price = priceOf(override, base)
  const aboveTokens = Number(override.min_prompt_tokens ?? 0)
  return price && Number.isSafeInteger(aboveTokens) ? { ...price, aboveTokens } : undefined
}

function withTiers (base: CataloguePrice, tiers: readonly CatalogueTier[]): Cost {
  const atAnyTime = tiers.filter(({ aboveTokens }) => aboveTokens === 0)
  const lengths = [...new Set(tiers.map(({ aboveTokens }) => aboveTokens))].filter(length => length > 0)
  const dearestAt = (length: number): CataloguePrice => {
    const applying = tiers.filter(({ aboveTokens }) => aboveTokens === length)
    return dearest([...applying, ...atAnyTime].map(price => ({ price }))).price
  }
  const price = dearest([base, ...atAnyTime].map(one => ({ price: one }))).price
  const ascending = lengths.toSorted((one, other) => one - other)
  return ascending.length === 0
    ? { price }
    : { price, tiers: ascending.map(length => ({ ...dearestAt(length), aboveTokens: length })) }
}
