import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import type { AccountMeans } from '../ledger/ledger.ts'
import { nanoFromPico } from '../shared/money.ts'
import { outputLimitOf, promptsOf } from '../shared/request-fields.ts'
import { highestRates, type TokenPrice } from './token-price.ts'
import { legacyMaxTokens, tokenBounds } from './token-guess.ts'

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
}

/** The shortest output limit that is worth a call. */
const minOutput = 16
/** The output limit of an unknown model. */
const unknownMaxOutput = 32_768

/** Bounds what a request may cost. The body has at least as many bytes as its text has tokens. */
export function maxCost (input: MaxCostInput): MaxCost {
  const { request, model } = input
  const answers = answersOf(request)
  const prompt = Math.min(promptBound(input), model.contextWindow ?? Infinity)
  const rates = highestRates(input.price, prompt)
  const { outputPico: textPico, audioOutputPico = 0 } = rates
  const outputPico = wantsAudio(request) ? Math.max(textPico, audioOutputPico) : textPico
  const inputNano = nanoFromPico(prompt * highestInput(rates, request))
  const limit = outputLimitOf(request)
  const modelMax = model.maxOutput ?? model.contextWindow
  const output = limit === null
    ? Math.min(modelMax ?? unknownMaxOutput, affordable(input, inputNano, outputPico * answers))
    : Math.min(Math.max(limit, 1), modelMax ?? limit)
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

/** The highest input rate of this request; writing to a cache may cost more than plain input. */
function highestInput (rates: ReturnType<typeof highestRates>, request: MaxCostInput['request']): number {
  const text = Math.max(rates.inputPico, rates.cacheWritePico)
  return rates.audioInputPico !== undefined && hasAudio(request) ? Math.max(text, rates.audioInputPico) : text
}

function hasAudio (request: MaxCostInput['request']): boolean {
  return isChat(request) && request.messages.some(({ content }) => {
    return Array.isArray(content) && content.some(({ type }) => type === 'input_audio')
  })
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

function promptBound ({ request, bodyBytes, searches = false }: MaxCostInput): number {
  const found = searches ? tokenBounds.searches : 0
  if (!isChat(request)) return (bodyBytes + found) * Math.max(1, request.best_of ?? 1)
  let tokens = bodyBytes + found + request.messages.length * tokenBounds.message
  if (request.tools !== undefined || request.functions !== undefined) tokens += tokenBounds.tools
  for (const { content } of request.messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      // Base64 in the body counts as the image or audio it carries, not as text.
      if (part.type === 'input_audio') {
        tokens += Math.ceil(part.input_audio.data.length * (1 / tokenBounds.audioCharsPerToken - 1))
      }
      if (part.type === 'file') tokens += fileBound(part.file.file_data)
      if (part.type === 'video_url') tokens += tokenBounds.linkedFile
      if (part.type !== 'image_url') continue
      tokens += tokenBounds.image - (part.image_url.url.startsWith('data:') ? part.image_url.url.length : 0)
    }
  }
  return tokens
}

/** A linked file may have any length; the context window bounds it. */
function fileBound (data: string | undefined): number {
  return data === undefined || /^https?:/i.test(data) ? tokenBounds.linkedFile : tokenBounds.file
}

/** How many answers are generated and charged. */
function answersOf (request: ChatCompletionRequest | CompletionRequest): number {
  const each = request.n ?? 1
  return isChat(request) ? each : promptsOf(request) * Math.max(each, request.best_of ?? 1)
}

function isChat (request: ChatCompletionRequest | CompletionRequest): request is ChatCompletionRequest {
  return 'messages' in request
}
