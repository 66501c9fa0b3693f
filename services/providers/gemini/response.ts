import { randomUUID } from 'node:crypto'
import type { ChatCompletion, ChatCompletionMessage } from '../../../schemas/openai/chat-completions.ts'
import type { ToolCall } from '../../../schemas/openai/chat-messages.ts'
import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { readCandidates, type CandidateCall, type CandidateContent } from './candidate.ts'
import { mapFinishReason, promptRefusal } from './map-finish-reason.ts'
import { extraContent } from './signatures.ts'
import { usageOf } from './usage.ts'

/** The fields that every chunk of an answer repeats. `created` is in Unix seconds. */
export type Head = Pick<ChatCompletion, 'id' | 'created' | 'model' | 'service_tier'>

/** What is known of an answer before its first response. */
export interface ResponseOptions {
  /** The fallback for responses that name none. */
  model: string
  /** Calls are returned as `function_call`. */
  isLegacy: boolean
  /** The service tier in OpenAI's words; null: not reported. */
  serviceTier: string | null
}

/** The head of an answer, from its first response. */
export function responseHead (
  { responseId, modelVersion, createTime }: JsonObject, { model, serviceTier }: ResponseOptions
): Head {
  const atMs = typeof createTime === 'string' ? Date.parse(createTime) : NaN
  return {
    id: `chatcmpl-${typeof responseId === 'string' && responseId !== '' ? responseId : randomUUID()}`,
    created: Math.floor((Number.isNaN(atMs) ? Date.now() : atMs) / 1000),
    model: typeof modelVersion === 'string' && modelVersion !== '' ? modelVersion : model,
    ...(serviceTier === null ? {} : { service_tier: serviceTier })
  }
}

type Choice = ChatCompletion['choices'][number]

/** A whole response as a chat completion. Throws UpstreamError when it has no candidates. */
export function toChatCompletion (response: JsonObject, options: ResponseOptions): ChatCompletion {
  const candidates = readCandidates(response)
  const refusal = promptRefusal(response)
  if (candidates.length === 0 && refusal === null) {
    throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer has no candidates.')
  }
  const usage = usageOf(response.usageMetadata)
  return {
    ...responseHead(response, options),
    object: 'chat.completion',
    choices: candidates.length === 0
      ? [refusedChoice(refusal)]
      : candidates.map(candidate => choiceOf(candidate, options.isLegacy)),
    ...(usage === null ? {} : { usage })
  }
}

function refusedChoice (refusal: string | null): Choice {
  const message = { role: 'assistant' as const, content: null, refusal }
  return { index: 0, message, logprobs: null, finish_reason: 'content_filter' }
}

function choiceOf (candidate: CandidateContent, isLegacy: boolean): Choice {
  const { index, finish, finishMessage, calls } = candidate
  const { reason, refusal } = mapFinishReason({
    finish: finish ?? 'STOP', finishMessage, hasCalls: calls.length > 0, isEmpty: isEmpty(candidate), isLegacy
  })
  const message = { ...messageOf(candidate, isLegacy), refusal }
  return {
    index,
    message: refusal === null ? message : { ...message, content: null },
    logprobs: candidate.logprobs,
    finish_reason: reason
  }
}

/** Whether a candidate has no visible content. */
export function isEmpty (
  { text, calls, images }: Pick<CandidateContent, 'text' | 'calls' | 'images'>
): boolean {
  return text === '' && calls.length === 0 && images.length === 0
}

function messageOf (candidate: CandidateContent, isLegacy: boolean): ChatCompletionMessage {
  const { text, reasoning, calls, images, signature } = candidate
  const [first] = calls
  return {
    role: 'assistant',
    content: text === '' && first !== undefined ? null : text,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(images.length === 0 ? {} : { images: images.map(imageOf) }),
    ...(first === undefined || isLegacy ? {} : { tool_calls: calls.map(toolCallOf) }),
    ...(first === undefined || !isLegacy ? {} : { function_call: functionCallOf(first) }),
    ...(signature === null ? {} : extraContent(signature))
  }
}

/** A generated image, in the form that other gateways use. */
export function imageOf (url: string, index: number): JsonObject {
  return { type: 'image_url', index, image_url: { url } }
}

/** A call in the legacy form. */
export function functionCallOf (
  { name, args, signature }: CandidateCall
): { name: string, arguments: string } {
  return { name, arguments: args, ...(signature === null ? {} : extraContent(signature)) }
}

export function toolCallOf ({ id, name, args, signature }: CandidateCall): ToolCall {
  return {
    id,
    type: 'function',
    function: { name, arguments: args },
    ...(signature === null ? {} : extraContent(signature))
  }
}
