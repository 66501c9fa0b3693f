import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ModelConfig } from '../catalogue/types.ts'
import { assertSafe } from '../shared/money.ts'
import type { TokenPrice } from './token-price.ts'
import { highestRates } from './token-price.ts'

/** The most that a request may use, and how its output is kept within that. */
export interface MaxCost {
  amountNano: number
  /**
   * Tokens per answer that must be asked of the provider because the client set no limit; null: nothing to
   * add.
   */
  outputLimit: number | null
}

interface Question {
  request: ChatCompletionRequest | CompletionRequest
  /** Length of the body as received. */
  bodyBytes: number
  model: Pick<ModelConfig, 'contextWindow' | 'maxOutput'>
  price: TokenPrice
  /** What the payer could spend now, in nano-USD; asked only when the client set no limit. */
  availableNano: number
}

/** Tokens a provider may count for one image, whatever its size. */
const imageTokens = 50_000
/** Fewest characters of base64 for a token of audio; the lowest bit rate of MP3 has five times as many. */
const audioCharacters = 8
/** Tokens a provider may count for one file beyond those of its bytes: pages are read as pictures too. */
const fileTokens = 50_000
/**
 * Tokens of a file of which only the address is known, where the model's context window is not known either.
 */
const farTokens = 1_000_000
/** Tokens around each message that no text stands for. */
const messageTokens = 16
/** Tokens of the instruction on how to use tools that a provider adds where there are any. */
const toolTokens = 1000
/** Without a limit of the client's, an answer may cost an eighth of what is there, but at least this much. */
const floorNano = 10_000_000
/** Shorter answers than this are not worth a call. */
const leastOutput = 16
/** Longest answer asked of a model of which nothing is known. */
const unknownMaxOutput = 32_768
/** What the legacy endpoint writes when it is told nothing. */
const legacyOutput = 16

/**
 * Bounds what a request may cost. Tokens of text are never more than its UTF-8 bytes, because byte-level
 * encodings only ever join bytes; the body has at least as many bytes as the text in it.
 */
export function maxCost (question: Question): MaxCost {
  const { request, model } = question
  const answers = answersOf(request)
  const prompt = Math.min(promptBound(question), model.contextWindow ?? Infinity)
  const rates = highestRates(question.price, prompt)
  const { outputPico: textPico, audioOutputPico = 0 } = rates
  const outputPico = isSpoken(request) ? Math.max(textPico, audioOutputPico) : textPico
  const limit = limitOf(request)
  const modelMax = model.maxOutput ?? model.contextWindow
  const output = limit === null
    ? Math.min(modelMax ?? unknownMaxOutput, affordable(question, outputPico, answers))
    : Math.min(limit, modelMax ?? limit)
  const inputNano = nano(prompt * dearestInput(rates, request))
  const outputNano = nano(output * answers * outputPico)
  const isUnlimited = limit === null && outputPico > 0 && (modelMax === null || output < modelMax)
  return { amountNano: inputNano + outputNano, outputLimit: isUnlimited ? output : null }
}

/** The rate at which no prompt of this request can cost more; a cache that is written to may be dearer. */
function dearestInput (rates: ReturnType<typeof highestRates>, request: Question['request']): number {
  const text = Math.max(rates.inputPico, rates.cacheWritePico)
  return rates.audioInputPico !== undefined && hasAudio(request) ? Math.max(text, rates.audioInputPico) : text
}

function hasAudio (request: Question['request']): boolean {
  return isChat(request) && request.messages.some(({ content }) => {
    return Array.isArray(content) && content.some(({ type }) => type === 'input_audio')
  })
}

function isSpoken (request: Question['request']): boolean {
  return isChat(request) && request.modalities?.includes('audio') === true
}

const nano = (pico: number): number => Math.ceil(assertSafe(pico) / 1000)

/** Whether the client itself says how long an answer may get. */
export function limitOf (request: ChatCompletionRequest | CompletionRequest): number | null {
  if (!isChat(request)) return request.max_tokens ?? null
  return request.max_completion_tokens ?? request.max_tokens ?? null
}

function affordable ({ availableNano, request }: Question, outputPico: number, answers: number): number {
  if (!isChat(request)) return legacyOutput
  if (outputPico === 0) return Infinity
  const budgetNano = Math.max(floorNano, Math.floor(availableNano / 8))
  return Math.max(leastOutput, Math.floor(budgetNano * 1000 / (outputPico * answers)))
}

function promptBound ({ request, bodyBytes }: Question): number {
  if (!isChat(request)) return bodyBytes * Math.max(1, request.best_of ?? 1)
  let tokens = bodyBytes + request.messages.length * messageTokens
  if (request.tools !== undefined) tokens += toolTokens
  for (const { content } of request.messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      // An image in the body is counted as an image, not as the text that carries it; audio likewise.
      if (part.type === 'input_audio') tokens += Math.ceil(part.input_audio.data.length * (1 / audioCharacters - 1))
      if (part.type === 'file') tokens += fileBound(part.file.file_data)
      if (part.type !== 'image_url') continue
      tokens += imageTokens - (part.image_url.url.startsWith('data:') ? part.image_url.url.length : 0)
    }
  }
  return tokens
}

/** A file that is elsewhere may be of any length: it is bounded by what the model can read. */
function fileBound (data: string | undefined): number {
  return data === undefined || /^https?:/i.test(data) ? farTokens : fileTokens
}

/** How many answers are written, all of them paid for. */
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
