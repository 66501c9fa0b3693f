import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../config/catalogue/types.ts'
import type { AccountMeans, Ledger } from './ledger/ledger.ts'
import { GatewayError } from '../shared/errors.ts'
import { nanoFromPico } from '../shared/money.ts'
import { outputLimitOf, promptsOf } from '../shared/request-fields.ts'
import { mayHaveAudio, mostTokens, type PromptSize } from './prompt-size.ts'
import { legacyMaxTokens, tokenBounds } from './token-guess.ts'
import { highestRates, type Rates, type TokenPrice } from './token-price.ts'

/** The most that a request may cost, and the output limit that keeps it there. */
export interface MaxCost {
  amountNano: number
  /** Tokens per completion that the amount covers. */
  outputTokens: number
  /** Tokens per answer to send to the provider, where the client set no limit or a higher one; else null. */
  outputLimit: number | null
}

/** How long prompts and completions may be at a deployment. Null: not known. */
export interface TokenLimits extends Pick<ModelConfig, 'contextWindow' | 'maxOutput'> {
  /** Whether it has written more than it was allowed, so that holds cover the longest answer. */
  ignoresLimit?: boolean
}

interface PromptCost {
  request: ChatCompletionRequest | CompletionRequest
  prompt: PromptSize
  limits: TokenLimits
  price: TokenPrice
  /** Whether the provider searches the web, which adds what it finds to the prompt. */
  searches?: boolean
  /** Whether a part of the prompt is put into a cache for an hour. */
  longCache?: boolean
}

interface MaxCostInput extends PromptCost {
  /** What the payer has; read, like the two below, only if the client set no limit. */
  means: AccountMeans
  /** The tokens that a completion of the model may need, and those that most need. */
  expectedTokens: number
  usualTokens: number
  /** The tokens of thoughts beyond the output limit; 0 by default: the limit counts them too. */
  thoughtTokens?: number
  /** The most that the request may cost; absent or null: no limit. */
  ceilingNano?: number | null
}

/** The bounds of what the prompt and each token of a completion cost. */
function rateBounds (input: PromptCost) {
  const { request, prompt, limits, searches = false } = input
  const open = prompt.open + (searches ? tokenBounds.searches * promptsOf(request) : 0)
  const tokens = mostTokens({ ...prompt, open }, limits.contextWindow)
  const rates = highestRates(input.price, tokens)
  const { outputPico: textPico, audioOutputPico = 0 } = rates
  return {
    inputNano: nanoFromPico(tokens * highestInput(rates, input)),
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
  const picoPerToken = outputPico * choicesOf(input.request)
  if (picoPerToken === 0) return Infinity
  return Math.floor(leftNano * 1000 / picoPerToken) - predictedBytes(input.request)
}

/** The tokens that most completions need, of a model whose completions are not known yet. */
export const unknownUsual = 1024
/** Less room for output is no limit. */
const leastRoom = 16
/** No known model writes more in one completion. */
const unknownMaxOutput = 131_072

/** Bounds what a request may cost. */
export function maxCost (input: MaxCostInput): MaxCost {
  const { request, limits, thoughtTokens = 0, ceilingNano = null } = input
  const responses = choicesOf(request)
  const { inputNano, outputPico } = rateBounds(input)
  const limit = outputLimitOf(request)
  const longest = limits.maxOutput ?? limits.contextWindow ?? Math.max(unknownMaxOutput, limit ?? 0)
  const wanted = limit === null
    ? Math.min(longest, affordable(input, inputNano, outputPico * responses))
    : Math.min(Math.max(limit, 1), longest)
  const within = ceilingNano === null ? Infinity : outputWithin(input, ceilingNano) - thoughtTokens
  if (within < 1) throw aboveCeiling()
  const output = Math.min(wanted, within)
  const written = (limits.ignoresLimit === true ? Math.min(longest, within) : output) + thoughtTokens
  const outputNano = nanoFromPico((written + predictedBytes(request)) * responses * outputPico)
  const isShort = output < longest || limits.ignoresLimit === true
  const isLower = limit === null ? isShort && outputPico > 0 : output < limit
  return {
    // More than any account can have, for limits whose price is beyond safe integers: the ledger throws 402.
    amountNano: Math.min(inputNano + outputNano, Number.MAX_SAFE_INTEGER),
    outputTokens: written,
    outputLimit: isLower ? limitWithin(output, input) ?? (limit === null ? null : output) : null
  }
}

/**
 * An output limit that servers accept which refuse one beyond the end of the context window; null where the
 * prompt leaves hardly any room, so that the window itself is the limit.
 */
function limitWithin (output: number, { prompt, limits: { contextWindow } }: PromptCost): number | null {
  if (contextWindow === null || output + prompt.usual <= contextWindow) return output
  const room = contextWindow - prompt.usual
  return room >= leastRoom ? room : null
}

/** 400: not even a short completion is within the ceiling. */
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
 * is held for others, but at least what an answer may need. Where others hold the money, the request waits;
 * where there is too little for what most answers need, it is refused instead of cut.
 */
function affordable (
  { request, means, expectedTokens, usualTokens }: MaxCostInput, inputNano: number, picoPerToken: number
): number {
  if (!isChat(request)) return legacyMaxTokens
  if (picoPerToken === 0) return Infinity
  const { availableNano, unspentNano } = means
  const tokensFor = (nano: number): number => Math.floor(nano * 1000 / picoPerToken)
  const freeShare = unspentNano === 0 ? 0 : availableNano / unspentNano
  const roomy = tokensFor((availableNano - inputNano) / 8 * freeShare ** 3)
  // Half, so that a scarce account still serves two requests at once.
  const scarce = tokensFor((unspentNano - inputNano) / 2)
  return Math.max(usualTokens, roomy, Math.min(expectedTokens, scarce))
}

/** The tokens of a prediction that the answer does not contain are charged as output too. */
function predictedBytes (request: MaxCostInput['request']): number {
  const { content } = (isChat(request) ? request.prediction : null) ?? {}
  return content === undefined ? 0 : Buffer.byteLength(typeof content === 'string' ? content : JSON.stringify(content))
}

/** How many completions are generated and charged. */
export function choicesOf (request: ChatCompletionRequest | CompletionRequest): number {
  const each = request.n ?? 1
  return isChat(request) ? each : promptsOf(request) * Math.max(each, request.best_of ?? 1)
}

function isChat (request: ChatCompletionRequest | CompletionRequest): request is ChatCompletionRequest {
  return 'messages' in request
}

/** What the poorest account of a chain has, as far as this node knows. Throws StoreUnavailable. */
export async function leastMeans (
  ledger: Pick<Ledger, 'means'>, chain: readonly string[]
): Promise<AccountMeans> {
  const least = { availableNano: Infinity, unspentNano: Infinity }
  const means = await Promise.all(chain.map(account => ledger.means(account)))
  for (const { availableNano, unspentNano } of means) {
    least.availableNano = Math.min(least.availableNano, availableNano)
    least.unspentNano = Math.min(least.unspentNano, unspentNano)
  }
  return least
}
