import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import { isObject, isText, type JsonObject } from '../shared/json.ts'
import { pictureUrlOf } from './openai/content-parts.ts'
import type { StreamReport } from './report.ts'

/** What the choices of an answer or chunk say; `spoken`: the part of `text` that is a transcript. */
export interface Generated { text: string, spoken: string, images: number }

/** Adds the text of a translated chunk to what was delivered. */
export function recordChunk (report: StreamReport, { choices }: Pick<ChatCompletionChunk, 'choices'>): void {
  recordGenerated(report, generatedIn(choices))
}

/** Adds the text of the choices of a whole answer, in OpenAI's form, to what was delivered. */
export function recordChoices (report: StreamReport, choices: readonly unknown[]): void {
  recordGenerated(report, generatedIn(choices))
}

export function recordGenerated ({ delivered }: StreamReport, { text, spoken, images }: Generated): void {
  delivered.takeText(text)
  if (images > 0 || spoken !== '') delivered.takeMedia(images, Buffer.byteLength(spoken))
}

/** What the choices of a whole answer or chunk, of chat or legacy completions, say. */
export function generatedIn (choices: unknown): Generated {
  const all: Generated = { text: '', spoken: '', images: 0 }
  for (const choice of Array.isArray(choices) ? choices : []) {
    if (!isObject(choice)) continue
    const message = [choice.delta, choice.message].find(isObject)
    if (isText(choice.text)) all.text += choice.text
    else if (message !== undefined) addGenerated(all, message)
  }
  return all
}

function addGenerated (all: Generated, message: JsonObject): void {
  const { content, images, audio } = message
  const spoken = isObject(audio) ? textIn(audio.transcript) : ''
  all.text += generatedText(message) + spoken
  all.spoken += spoken
  if (Array.isArray(images)) all.images += images.length
  if (!Array.isArray(content)) return
  all.images += content.filter(part => isObject(part) && pictureUrlOf(part) !== null).length
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
  const given = isObject(called) ? called.arguments : null
  // Ollama and others send an object.
  const text = isObject(given) ? JSON.stringify(given) : textIn(given)
  return text + textIn(isObject(custom) ? custom.input : null)
}
