import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import { isObject, isText, type JsonObject } from '../shared/json.ts'
import type { StreamReport } from './report.ts'

/** Adds the text of a translated chunk to what was delivered. */
export function recordChunk ({ delivered }: StreamReport, { choices }: Pick<ChatCompletionChunk, 'choices'>): void {
  for (const { delta } of choices) record(delivered, delta)
}

/** Adds the text of the choices of a whole answer, in OpenAI's form, to what was delivered. */
export function recordChoices ({ delivered }: StreamReport, choices: readonly unknown[]): void {
  for (const choice of choices) {
    if (!isObject(choice)) continue
    if (isText(choice.text)) delivered.takeText(choice.text)
    else record(delivered, choice.message)
  }
}

function record (delivered: StreamReport['delivered'], message: unknown): void {
  if (!isObject(message)) return
  const { images, audio } = message
  delivered.takeText(generatedText(message))
  const spoken = isObject(audio) ? textIn(audio.transcript) : ''
  delivered.takeText(spoken)
  delivered.takeMedia(Array.isArray(images) ? images.length : 0, Buffer.byteLength(spoken))
}

/**
 * The text that a model wrote as a message or delta: the answer, a refusal, calls of tools, and reasoning,
 * which some servers send under several names.
 */
function generatedText (message: JsonObject): string {
  const { content, refusal, tool_calls: calls, function_call: call } = message
  return textIn(content) + textIn(refusal) + reasoningIn(message) + argumentsOf({ function: call }) +
    (Array.isArray(calls) ? calls.map(argumentsOf).join('') : '')
}

function reasoningIn (message: JsonObject): string {
  const { reasoning_content: content, reasoning, thinking, reasoning_details: details } = message
  return textIn(content) || textIn(reasoning) || textIn(thinking) || textIn(details)
}

/** A text, or the texts of parts: `{text}`, `{thinking}` with a text or parts, or `{summary}`. */
function textIn (value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value.map(part => isObject(part) ? textIn(part.text ?? part.thinking ?? part.summary ?? part.refusal) : '').join('')
}

function argumentsOf (call: unknown): string {
  if (!isObject(call)) return ''
  const { function: called, custom } = call
  return textIn(isObject(called) ? called.arguments : null) + textIn(isObject(custom) ? custom.input : null)
}
