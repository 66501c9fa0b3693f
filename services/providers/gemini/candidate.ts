import { randomUUID } from 'node:crypto'
import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'

export interface CandidateContent {
  index: number
  text: string
  /** Summaries of thoughts, sent on request only. */
  reasoning: string
  calls: CandidateCall[]
  /** Images as data: URLs. */
  images: string[]
  /** Signature of the text; calls have their own. */
  signature: string | null
  logprobs: ChatLogprobs | null
  /** Gemini's finish reason; null until the candidate ends. */
  finish: string | null
  /** An explanation; may be empty. */
  finishMessage: string
}

/** `args` is JSON. */
export interface CandidateCall { id: string, name: string, args: string, signature: string | null }

/** The candidates of a response, without malformed parts. Source: @google/genai 3.1.0. */
export function readCandidates (response: JsonObject): CandidateContent[] {
  return Array.isArray(response.candidates) ? response.candidates.filter(isObject).map(read) : []
}

function read (candidate: JsonObject, place: number): CandidateContent {
  const { content, finishReason, finishMessage } = candidate
  const result: CandidateContent = {
    index: typeof candidate.index === 'number' ? candidate.index : place,
    text: '',
    reasoning: '',
    calls: [],
    images: [],
    signature: null,
    logprobs: logprobsOf(candidate.logprobsResult),
    finish: typeof finishReason === 'string' && finishReason !== unspecified ? finishReason : null,
    finishMessage: typeof finishMessage === 'string' ? finishMessage : ''
  }
  const parts = isObject(content) && Array.isArray(content.parts) ? content.parts : []
  for (const part of parts) if (isObject(part)) readPart(part, result)
  return result
}

const unspecified = 'FINISH_REASON_UNSPECIFIED'

function readPart (part: JsonObject, result: CandidateContent): void {
  const { text, functionCall, inlineData } = part
  const signature = typeof part.thoughtSignature === 'string' ? part.thoughtSignature : null
  if (isObject(functionCall) && typeof functionCall.name === 'string') {
    const { id, name, args } = functionCall
    result.calls.push({
      id: typeof id === 'string' && id !== '' ? id : `call_${randomUUID().replaceAll('-', '')}`,
      name,
      args: isObject(args) ? JSON.stringify(args) : '{}',
      signature
    })
    return
  }
  if (part.thought === true) {
    if (typeof text === 'string') result.reasoning += text
    return
  }
  if (typeof text === 'string') result.text += text
  if (isObject(inlineData) && typeof inlineData.data === 'string') {
    result.images.push(`data:${String(inlineData.mimeType)};base64,${inlineData.data}`)
  }
  result.signature = signature ?? result.signature
}

type TokenLogprob = NonNullable<ChatLogprobs['content']>[number]
type TopLogprob = TokenLogprob['top_logprobs'][number]

/** Log probabilities in OpenAI's form. Source: @google/genai 3.1.0, `LogprobsResult`. */
function logprobsOf (result: unknown): ChatLogprobs | null {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return null
  const top = Array.isArray(result.topCandidates) ? result.topCandidates : []
  const content = result.chosenCandidates.map((chosen: unknown, index): TokenLogprob => {
    const others: unknown = isObject(top[index]) ? top[index].candidates : undefined
    return { ...entryOf(chosen), top_logprobs: Array.isArray(others) ? others.map(entryOf) : [] }
  })
  return { content, refusal: null }
}

function entryOf (candidate: unknown): TopLogprob {
  const { token, logProbability } = isObject(candidate) ? candidate : {}
  const text = typeof token === 'string' ? token : ''
  return { token: text, logprob: typeof logProbability === 'number' ? logProbability : 0, bytes: [...Buffer.from(text)] }
}
