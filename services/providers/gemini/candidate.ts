import { randomUUID } from 'node:crypto'
import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { logprobsOf } from './logprobs.ts'

/** What one candidate of a whole or partial response says. */
export interface Said {
  /** 0 for the first of several answers. */
  index: number
  text: string
  /** Summaries of thoughts; they come only when asked for. */
  reasoning: string
  calls: Call[]
  /** Images as data: URLs. */
  images: string[]
  /** Signs the text; those of calls stand in the calls. */
  signature: string | null
  logprobs: ChatLogprobs | null
  /** Gemini's own word for why the candidate ended; null while it goes on. */
  finish: string | null
  /** Why, in a sentence; empty when nobody says. */
  finishMessage: string
}

/** `args` is JSON. */
export interface Call { id: string, name: string, args: string, signature: string | null }

/**
 * The candidates of a response. Reads leniently: what is not as it should be is as if it were not there.
 * Source: @google/genai 3.1.0, `GenerateContentResponse`.
 */
export function candidatesIn (response: JsonObject): Said[] {
  return Array.isArray(response.candidates) ? response.candidates.filter(isObject).map(read) : []
}

function read (candidate: JsonObject, place: number): Said {
  const { content, finishReason, finishMessage } = candidate
  const said: Said = {
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
  for (const part of parts) if (isObject(part)) readPart(part, said)
  return said
}

const unspecified = 'FINISH_REASON_UNSPECIFIED'

function readPart (part: JsonObject, said: Said): void {
  const { text, functionCall, inlineData } = part
  const signature = typeof part.thoughtSignature === 'string' ? part.thoughtSignature : null
  if (isObject(functionCall) && typeof functionCall.name === 'string') {
    const { id, name, args } = functionCall
    said.calls.push({
      id: typeof id === 'string' && id !== '' ? id : `call_${randomUUID().replaceAll('-', '')}`,
      name,
      args: isObject(args) ? JSON.stringify(args) : '{}',
      signature
    })
    return
  }
  if (part.thought === true) {
    if (typeof text === 'string') said.reasoning += text
    return
  }
  if (typeof text === 'string') said.text += text
  if (isObject(inlineData) && typeof inlineData.data === 'string') {
    said.images.push(`data:${String(inlineData.mimeType)};base64,${inlineData.data}`)
  }
  said.signature = signature ?? said.signature
}
