import type { ModelConfig, Price, PriceTier } from '../config/catalogue/types.ts'
import type { Usage } from '../providers/report.ts'
import { GatewayError } from '../shared/errors.ts'
import { nanoFromPico } from '../shared/money.ts'

/** The rates of a model that is sold by the token, in integer pico-USD per token. */
export interface TokenPrice extends Rates {
  /** Rates that replace these for long prompts, shortest first. */
  tiers?: readonly TokenTier[]
}

export interface Rates {
  inputPico: number
  outputPico: number
  cacheReadPico: number
  cacheWritePico: number
  /** Absent: a cache for an hour costs as much as one for five minutes. */
  cacheWrite1hPico?: number
  /** Absent: audio costs as much as text. */
  audioInputPico?: number
  audioOutputPico?: number
}

type RatesOfPrice = Partial<Pick<
  Price, 'cacheReadPico' | 'cacheWritePico' | 'cacheWrite1hPico' | 'audioInputPico' | 'audioOutputPico'
>>

interface TokenTier extends Rates { aboveTokens: number }

/**
 * The rates of a model; cached tokens and audio without a rate of their own cost as much as others. Throws
 * GatewayError 400 for a model without a price: a missing price is not zero.
 */
export function tokenPriceOf ({ id, price }: Pick<ModelConfig, 'id' | 'price'>): TokenPrice {
  if (price === null || price.inputPico === null || price.outputPico === null) throw notPriced(id)
  const base = toRates(price, price.inputPico, price.outputPico)
  if (price.tiers == null) return base
  return { ...base, tiers: price.tiers.map(tier => toTier(tier, base)) }
}

/** The rates at a service tier, audio as at the standard one; null if the tier has no price. */
export function serviceTierPriceOf (price: Price, tier: string): TokenPrice | null {
  const own = price.serviceTiers?.find(({ name }) => name === serviceTierName(tier))
  if (own === undefined) return null
  const { audioInputPico, audioOutputPico } = price
  const base = toRates({ ...own, audioInputPico, audioOutputPico }, own.inputPico, own.outputPico)
  return own.tiers == null ? base : { ...base, tiers: own.tiers.map(tier => toTier(tier, base)) }
}

/** The name of a service tier in the configuration. OpenAI takes `fast` for `priority`. */
export function serviceTierName (tier: string): string {
  return tier === 'fast' ? 'priority' : tier
}

function toRates (price: RatesOfPrice, inputPico: number, outputPico: number): Rates {
  const rates: Rates = {
    inputPico,
    outputPico,
    cacheReadPico: price.cacheReadPico ?? inputPico,
    cacheWritePico: price.cacheWritePico ?? inputPico,
    cacheWrite1hPico: price.cacheWrite1hPico ?? hourCachePico(inputPico, price.cacheWritePico)
  }
  if (price.audioInputPico != null) rates.audioInputPico = price.audioInputPico
  if (price.audioOutputPico != null) rates.audioOutputPico = price.audioOutputPico
  return rates
}

/**
 * What a token put into a cache for an hour costs unless its price is set: Anthropic charges twice the input
 * price, and 1.25 times for five minutes. Source: platform.claude.com, "Prompt caching", November 2026.
 */
export function hourCachePico (inputPico: number, cacheWritePico: number | null = null): number {
  return Math.max(2 * inputPico, cacheWritePico ?? 0)
}

/** Audio has no tiers of its own: it costs at least its base rate and at least the tier's text rate. */
function toTier (price: PriceTier, base: Rates): TokenTier {
  const { aboveTokens, inputPico, outputPico, cacheReadPico, cacheWritePico, cacheWrite1hPico } = price
  const tier: TokenTier = {
    aboveTokens,
    inputPico,
    outputPico,
    cacheReadPico: cacheReadPico ?? inputPico,
    cacheWritePico: cacheWritePico ?? inputPico,
    cacheWrite1hPico: cacheWrite1hPico ?? hourCachePico(inputPico, cacheWritePico)
  }
  if (base.audioInputPico !== undefined) tier.audioInputPico = Math.max(base.audioInputPico, inputPico)
  if (base.audioOutputPico !== undefined) tier.audioOutputPico = Math.max(base.audioOutputPico, outputPico)
  return tier
}

/** The rates for every token of a request whose prompt has `promptTokens`. */
export function ratesFor (price: TokenPrice, promptTokens: number): Rates {
  return price.tiers?.findLast(({ aboveTokens }) => promptTokens > aboveTokens) ?? price
}

/** The highest of each rate for a prompt of at most `promptTokens`. */
export function highestRates (price: TokenPrice, promptTokens: number): Rates {
  if (price.tiers === undefined) return price
  const highest: Rates = { ...price }
  for (const tier of price.tiers) {
    if (promptTokens <= tier.aboveTokens) break
    for (const rate of rateNames) {
      const pico = tier[rate]
      if (pico !== undefined) highest[rate] = Math.max(highest[rate] ?? 0, pico)
    }
  }
  return highest
}

const rateNames = [
  'inputPico', 'outputPico', 'cacheReadPico', 'cacheWritePico', 'cacheWrite1hPico', 'audioInputPico', 'audioOutputPico'
] as const

/** Whether nothing costs anything, at any length. */
export function costsNothing (price: TokenPrice): boolean {
  return rateNames.every(rate => (price[rate] ?? 0) === 0) && (price.tiers?.every(costsNothing) ?? true)
}

/** The cost of a call in nano-USD: an exact sum in pico-USD, rounded up once, see `nanoFromPico`. */
export function tokenCostNano (usage: Usage, price: TokenPrice): number {
  const rates = price.tiers == null ? price : ratesFor(price, usage.prompt)
  const read = Math.min(usage.cachedRead ?? 0, usage.prompt)
  const written = Math.min(usage.cacheWrite ?? 0, usage.prompt - read)
  let pico = (usage.prompt - read - written) * rates.inputPico + read * rates.cacheReadPico +
    written * rates.cacheWritePico + usage.completion * rates.outputPico
  if (usage.cacheWrite1h !== undefined && rates.cacheWrite1hPico !== undefined) {
    pico += Math.min(usage.cacheWrite1h, written) * (rates.cacheWrite1hPico - rates.cacheWritePico)
  }
  if (usage.audioInput !== undefined && rates.audioInputPico !== undefined) {
    // Cached audio is reported among the cached tokens, so only the rest can be charged as audio.
    const audio = Math.min(usage.audioInput, usage.prompt - read - written)
    pico += audio * (rates.audioInputPico - rates.inputPico)
  }
  if (usage.audioOutput !== undefined && rates.audioOutputPico !== undefined) {
    pico += Math.min(usage.audioOutput, usage.completion) * (rates.audioOutputPico - rates.outputPico)
  }
  return nanoFromPico(pico)
}

/** How to write a price in gateway.yaml. */
const priceForms = {
  tokens: '{ input: …, output: … } in USD per million tokens',
  images: '{ image: … } in USD per image, or { input: …, output: … } in USD per million tokens',
  videos: '{ second: … } in USD per second of video'
}

/** 400: the model has no price. */
export function notPriced (id: string, what: keyof typeof priceForms = 'tokens'): GatewayError {
  const message = `The model \`${id}\` has no price on this gateway, so it cannot be used. The operator can set one ` +
    `in gateway.yaml, under the model: price: ${priceForms[what]}; for a free model every rate is 0.`
  return GatewayError.invalidRequest(message, { param: 'model', code: 'model_not_priced' })
}
