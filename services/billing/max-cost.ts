import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import { assertSafe } from '../shared/money.ts'
import { highestRates, type TokenPrice } from './token-price.ts'
import { legacyMaxTokens, tokenBounds } from './token-guess.ts'

/** The most that a request may cost, and the output limit that keeps it there. */
export interface MaxCost {
  amountNano: number
  /** Tokens per answer to send to the provider because the client set no limit; null: nothing to add. */
  outputLimit: number | null
}

interface MaxCostInput {
  request: ChatCompletionRequest | CompletionRequest
  /** The length of the body as received. */
  bodyBytes: number
  model: Pick<ModelConfig, 'contextWindow' | 'maxOutput'>
  price: TokenPrice
  /** What the payer can spend now, in nano-USD; read only if the client set no limit. */
  availableNano: number
}

/** Without a limit from the client, an answer may cost an eighth of what is available, but at least this. */
const floorNano = 10_000_000
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
  const limit = limitOf(request)
  const modelMax = model.maxOutput ?? model.contextWindow
  const output = limit === null
    ? Math.min(modelMax ?? unknownMaxOutput, affordable(input, outputPico, answers))
    : Math.min(limit, modelMax ?? limit)
  const inputNano = nano(prompt * highestInput(rates, request))
  const outputNano = nano(output * answers * outputPico)
  const isUnlimited = limit === null && outputPico > 0 && (modelMax === null || output < modelMax)
  return { amountNano: inputNano + outputNano, outputLimit: isUnlimited ? output : null }
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

const nano = (pico: number): number => Math.ceil(assertSafe(pico) / 1000)

/** The output limit the client set; null if none. */
export function limitOf (request: ChatCompletionRequest | CompletionRequest): number | null {
  if (!isChat(request)) return request.max_tokens ?? null
  return request.max_completion_tokens ?? request.max_tokens ?? null
}

function affordable ({ availableNano, request }: MaxCostInput, outputPico: number, answers: number): number {
  if (!isChat(request)) return legacyMaxTokens
  if (outputPico === 0) return Infinity
  const budgetNano = Math.max(floorNano, Math.floor(availableNano / 8))
  return Math.max(minOutput, Math.floor(budgetNano * 1000 / (outputPico * answers)))
}

function promptBound ({ request, bodyBytes }: MaxCostInput): number {
  if (!isChat(request)) return bodyBytes * Math.max(1, request.best_of ?? 1)
  let tokens = bodyBytes + request.messages.length * tokenBounds.message
  if (request.tools !== undefined) tokens += tokenBounds.tools
  for (const { content } of request.messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      // Base64 in the body counts as the image or audio it carries, not as text.
      if (part.type === 'input_audio') {
        tokens += Math.ceil(part.input_audio.data.length * (1 / tokenBounds.audioCharsPerToken - 1))
      }
      if (part.type === 'file') tokens += fileBound(part.file.file_data)
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
  if (isChat(request)) return each
  const { prompt, best_of: bestOf } = request
  const prompts = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1
  return prompts * Math.max(each, bestOf ?? 1)
}

function isChat (request: ChatCompletionRequest | CompletionRequest): request is ChatCompletionRequest {
  return 'messages' in request
}
