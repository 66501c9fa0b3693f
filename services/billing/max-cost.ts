import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import type { AccountMeans, Ledger } from '../ledger/ledger.ts'
import { GatewayError } from '../shared/errors.ts'
import { nanoFromPico } from '../shared/money.ts'
import { outputLimitOf, promptsOf } from '../shared/request-fields.ts'
import { legacyMaxTokens, mayHaveAudio, mediaBound, tokenBounds } from './token-guess.ts'
import { highestRates, type Rates, type TokenPrice } from './token-price.ts'

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
  /** The bound of its prompt in tokens, if the caller has computed it for many models. */
  promptTokens?: number
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
  const prompt = Math.min(input.promptTokens ?? promptBound(input), model.contextWindow ?? Infinity)
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
export const minOutput = 16
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

/** The most tokens that a prompt may have at a model of any context window. */
export function promptBound (
  { request, bodyBytes, searches = false }: Pick<PromptCost, 'request' | 'bodyBytes' | 'searches'>
): number {
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

/** What the poorest account of a chain has, as far as this node knows: at once where that is in memory. */
export function leastMeans (
  ledger: Pick<Ledger, 'means'>, chain: readonly string[]
): AccountMeans | Promise<AccountMeans> {
  const all = chain.map(account => ledger.means(account))
  return all.every(isKnown) ? leastOf(all) : Promise.all(all).then(leastOf)
}

function isKnown (means: AccountMeans | Promise<AccountMeans>): means is AccountMeans {
  return !(means instanceof Promise)
}

function leastOf (all: readonly AccountMeans[]): AccountMeans {
  const least = { availableNano: Infinity, unspentNano: Infinity }
  for (const { availableNano, unspentNano } of all) {
    least.availableNano = Math.min(least.availableNano, availableNano)
    least.unspentNano = Math.min(least.unspentNano, unspentNano)
  }
  return least
}
