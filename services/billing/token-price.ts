import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig, Price, PriceTier } from '../catalogue/types.ts'
import type { AccountMeans } from '../ledger/ledger.ts'
import type { Usage } from '../providers/report.ts'
import { GatewayError } from '../shared/errors.ts'
import { nanoFromPico } from '../shared/money.ts'
import { outputLimitOf, promptsOf } from '../shared/request-fields.ts'
import { legacyMaxTokens, mayHaveAudio, mediaBound, tokenBounds } from './token-guess.ts'

/** The rates of a model that is sold by the token, in integer pico-USD per token. */
export interface TokenPrice extends Rates {
  /** Rates that replace these for long prompts, shortest first. */
  tiers?: readonly TokenTier[]
}

interface Rates {
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
    `in gateway.yaml, under the model: price: ${priceForms[what]}; a free model has the price 0.`
  return GatewayError.invalidRequest(message, { param: 'model', code: 'model_not_priced' })
}

/** The most that a request may cost, and the output limit that keeps it there. */
export interface MaxCost {
  amountNano: number
  /** Tokens per answer that the amount covers. */
  outputTokens: number
  /** Tokens per answer to send to the provider, where the client set no limit or a higher one; else null. */
  outputLimit: number | null
}

interface MaxCostInput {
  request: ChatCompletionRequest | CompletionRequest
  /** The length of the body as received. */
  bodyBytes: number
  model: Pick<ModelConfig, 'contextWindow' | 'maxOutput'>
  price: TokenPrice
  /** What the payer has, and the tokens that an answer may need; read only if the client set no limit. */
  means: AccountMeans
  expectedTokens: number
  /** Whether the provider searches the web, which adds what it finds to the prompt. */
  searches?: boolean
  /** Whether a part of the prompt is put into a cache for an hour. */
  longCache?: boolean
  /** The most that the request may cost; absent or null: no limit. */
  ceilingNano?: number | null
}

type PromptCost = Omit<MaxCostInput, 'means' | 'expectedTokens' | 'ceilingNano'>

/** The bounds of what the prompt and each token of an answer cost. */
function rateBounds (input: PromptCost) {
  const { request, model } = input
  const prompt = Math.min(promptBound(input), model.contextWindow ?? Infinity)
  const rates = highestRates(input.price, prompt)
  const { outputPico: textPico, audioOutputPico = 0 } = rates
  return {
    inputNano: nanoFromPico(prompt * highestInput(rates, input)),
    outputPico: wantsAudio(request) ? Math.max(textPico, audioOutputPico) : textPico
  }
}

/**
 * The longest answer, in tokens, with which a request costs no more than a ceiling in nano-USD, whatever its
 * prompt turns out to have; below 0 if the prompt alone may cost more.
 */
export function outputWithin (input: PromptCost, ceilingNano: number): number {
  const { inputNano, outputPico } = rateBounds(input)
  const leftNano = ceilingNano - inputNano
  if (leftNano < 0) return -1
  const picoPerToken = outputPico * answersOf(input.request)
  if (picoPerToken === 0) return Infinity
  return Math.floor(leftNano * 1000 / picoPerToken) - predictedBytes(input.request)
}

/** The shortest output limit that is worth a call. */
const minOutput = 16
/** The output limit of an unknown model. */
const unknownMaxOutput = 32_768

/** Bounds what a request may cost. The body has at least as many bytes as its text has tokens. */
export function maxCost (input: MaxCostInput): MaxCost {
  const { request, model, ceilingNano = null } = input
  const answers = answersOf(request)
  const { inputNano, outputPico } = rateBounds(input)
  const limit = outputLimitOf(request)
  const modelMax = model.maxOutput ?? model.contextWindow
  const wanted = limit === null
    ? Math.min(modelMax ?? unknownMaxOutput, affordable(input, inputNano, outputPico * answers))
    : Math.min(Math.max(limit, 1), modelMax ?? limit)
  const output = ceilingNano === null ? wanted : Math.min(wanted, outputWithin(input, ceilingNano))
  if (ceilingNano !== null && output < 1) throw aboveCeiling()
  const outputNano = nanoFromPico((output + predictedBytes(request)) * answers * outputPico)
  const isUnlimited = limit === null && outputPico > 0 && (modelMax === null || output < modelMax)
  const isLowered = limit !== null && output < limit
  return {
    // More than any account can have, for limits whose price is beyond safe integers: the ledger answers 402.
    amountNano: Math.min(inputNano + outputNano, Number.MAX_SAFE_INTEGER),
    outputTokens: output,
    outputLimit: isUnlimited || isLowered ? output : null
  }
}

/** 400: not even a short answer is within the ceiling. */
function aboveCeiling (): GatewayError {
  return GatewayError.invalidRequest('This request may cost more than its policy allows.',
    { param: 'model', code: 'no_model_qualifies' })
}

/** The highest input rate of this request; writing to a cache may cost more than plain input. */
function highestInput (rates: Rates, { request, longCache = false }: PromptCost): number {
  const text = Math.max(rates.inputPico, rates.cacheWritePico, longCache ? rates.cacheWrite1hPico ?? 0 : 0)
  return rates.audioInputPico !== undefined && hasAudio(request) ? Math.max(text, rates.audioInputPico) : text
}

function hasAudio (request: MaxCostInput['request']): boolean {
  return isChat(request) && request.messages.some(mayHaveAudio)
}

function wantsAudio (request: MaxCostInput['request']): boolean {
  return isChat(request) && request.modalities?.includes('audio') === true
}

/**
 * The tokens per answer to hold for a request without a limit: an eighth of what is available, less the more
 * is held for others, but at least what an answer may need. Where others hold the money, the request waits.
 */
function affordable (
  { request, means, expectedTokens }: MaxCostInput, inputNano: number, picoPerToken: number
): number {
  if (!isChat(request)) return legacyMaxTokens
  if (picoPerToken === 0) return Infinity
  const { availableNano, unspentNano } = means
  const tokensFor = (nano: number): number => Math.floor(nano * 1000 / picoPerToken)
  const freeShare = unspentNano === 0 ? 0 : availableNano / unspentNano
  const roomy = tokensFor((availableNano - inputNano) / 8 * freeShare ** 3)
  // Half, so that a scarce account still serves two requests at once.
  const scarce = tokensFor((unspentNano - inputNano) / 2)
  return Math.max(minOutput, roomy, Math.min(expectedTokens, scarce))
}

/** The tokens of a prediction that the answer does not contain are charged as output too. */
function predictedBytes (request: MaxCostInput['request']): number {
  const { content } = (isChat(request) ? request.prediction : null) ?? {}
  return content === undefined ? 0 : Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content))
}

function promptBound ({ request, bodyBytes, searches = false }: PromptCost): number {
  const found = searches ? tokenBounds.searches : 0
  if (!isChat(request)) return (bodyBytes + found) * Math.max(1, request.best_of ?? 1)
  let tokens = bodyBytes + found + request.messages.length * tokenBounds.message
  if (request.tools !== undefined || request.functions !== undefined) tokens += tokenBounds.tools
  for (const message of request.messages) if (!isTextAlone(message)) tokens += mediaBound(message)
  return tokens
}

/** Nearly all messages are; the bytes of the body bound their tokens. */
function isTextAlone (message: ChatMessage): boolean {
  return typeof message.content === 'string' && (message.role !== 'assistant' || message.audio == null)
}

/** How many answers are generated and charged. */
function answersOf (request: ChatCompletionRequest | CompletionRequest): number {
  const each = request.n ?? 1
  return isChat(request) ? each : promptsOf(request) * Math.max(each, request.best_of ?? 1)
}

function isChat (request: ChatCompletionRequest | CompletionRequest): request is ChatCompletionRequest {
  return 'messages' in request
}
