import { isDeepStrictEqual } from 'node:util'
import type { TSchema, Static } from '@sinclair/typebox'
import {
  ChatCompletion, ChatCompletionChunk, ChatCompletionRequest
} from '../../schemas/openai/chat-completions.ts'
import { ImageGenerationRequest } from '../../schemas/openai/images-generations.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import type { Pieces, PluginCall } from './types.ts'

// Values that hooks return are copied as JSON text, so a plugin that keeps one cannot change it later.

const maxWholeBytes = 32 * 1024 * 1024
const maxPieceBytes = 1024 * 1024

/** The JSON text of a value. Throws TypeError for one that has none or is too long. */
function textOf (value: unknown, maxBytes: number): string {
  const text: string | undefined = JSON.stringify(value)
  if (text === undefined) throw new TypeError('returned what is not JSON')
  if (text.length > maxBytes) throw new TypeError(`returned more than ${maxBytes} bytes`)
  return text
}

/** What is wrong with a value, by the schema of requests and responses; null if it is right. */
export type ProblemIn = (schema: TSchema, value: unknown) => string | null

function checked<Schema extends TSchema> (
  schema: Schema, text: string, problemIn: ProblemIn
): Static<Schema> {
  const value: unknown = JSON.parse(text)
  const problem = problemIn(schema, value)
  if (problem !== null) throw new TypeError(`returned a wrong value: ${problem}`)
  // The validator of the schema has accepted it.
  return value as Static<Schema>
}

/** A copy of a JSON value. */
export function copyOf<Json> (value: Json): Json {
  return JSON.parse(JSON.stringify(value))
}

/** Fields that decide how the response is delivered. */
const clientFields = ['stream', 'stream_options', 'webhook_url'] as const

/** The call that a hook returned; `given` itself if it changes nothing. Throws TypeError. */
export function checkedCall (given: PluginCall, returned: unknown, problemIn: ProblemIn): PluginCall {
  if (returned === undefined) return given
  if (!isObject(returned) || returned.kind !== given.kind) throw new TypeError('returned another kind of call')
  const text = textOf(returned.body, maxWholeBytes)
  if (text === JSON.stringify(given.body)) return given
  const call: PluginCall = given.kind === 'image'
    ? { kind: 'image', body: checked(ImageGenerationRequest, text, problemIn) }
    : { kind: given.kind, body: checked(ChatCompletionRequest, text, problemIn) }
  const isChanged = (name: string): boolean =>
    !isDeepStrictEqual(Reflect.get(call.body, name), Reflect.get(given.body, name))
  const changed = clientFields.find(isChanged)
  if (changed !== undefined) throw new TypeError(`changed '${changed}', which is the client's`)
  return call
}

/** The completion that a hook returned, with the provider's usage; `given` itself without a change. */
export function checkedCompletion (
  given: ChatCompletion, returned: unknown, problemIn: ProblemIn
): ChatCompletion {
  if (returned === undefined) return given
  const text = textOf(returned, maxWholeBytes)
  if (text === JSON.stringify(given)) return given
  const { usage: _, ...completion } = checked(ChatCompletion, text, problemIn)
  return given.usage === undefined ? completion : { ...completion, usage: given.usage }
}

/** The chunks that a hook returned. Throws TypeError. */
export function checkedPieces (
  given: ChatCompletionChunk, returned: Pieces, problemIn: ProblemIn
): ChatCompletionChunk[] {
  if (returned === undefined) return [given]
  if (returned === null) return []
  const pieces: readonly unknown[] = Array.isArray(returned) ? returned : [returned]
  const same = JSON.stringify(given)
  let leftBytes = Math.max(maxPieceBytes, same.length)
  return pieces.map(piece => {
    const text = textOf(piece, leftBytes)
    leftBytes -= text.length
    if (text === same) return given
    // The usage is the provider's, and comes in a chunk that no plugin gets.
    const { usage: _, ...chunk } = checked(ChatCompletionChunk, text, problemIn)
    return chunk
  })
}

/** The completion that chunks make up. */
export function wholeCompletion ({ choices, ...members }: JsonObject): ChatCompletion {
  return {
    ...members,
    id: String(members.id),
    object: 'chat.completion',
    created: Number(members.created),
    model: String(members.model),
    choices: (Array.isArray(choices) ? choices : []).filter(isObject).map(({ message, ...choice }, index) => {
      const { content, ...more } = isObject(message) ? message : {}
      const reason = reasons.find(reason => reason === choice.finish_reason) ?? 'stop'
      const whole = { ...more, role: 'assistant' as const, content: typeof content === 'string' ? content : null }
      return { ...choice, index: typeof choice.index === 'number' ? choice.index : index, message: whole, finish_reason: reason }
    })
  }
}

const reasons = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'] as const

/** A plugin's response to a request: a completion in full. */
export function checkedResponse (
  given: unknown, { model, requestId, problemIn }: { model: string, requestId: string, problemIn: ProblemIn }
): ChatCompletion {
  const message = { role: 'assistant', content: given, refusal: null }
  const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }]
  const created = Math.floor(Date.now() / 1000)
  const head = { id: `chatcmpl-${requestId}`, object: 'chat.completion', created, model }
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const completion = typeof given === 'string' ? { ...head, choices } : { ...head, ...Object(given) }
  const whole = checked(ChatCompletion, textOf(completion, maxWholeBytes), problemIn)
  if (whole.choices.length === 0) throw new TypeError('responded without a choice')
  return { usage, ...whole }
}
