import type { ChatMessage, ToolCall } from '../../../schemas/openai/chat-messages.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import type { ReadPart } from './media.ts'
import type { GeminiTraits } from './model-traits.ts'
import { readCallId, signatureIn, unknownSignature } from './signatures.ts'
import { unsupportedField, type Content, type FunctionCallPart, type FunctionResponsePart, type Part } from './wire.ts'

interface Conversation { contents: Content[], system: string }

/** Converts messages to alternating turns. Throws UpstreamError (400) for what the model does not support. */
export async function convertToContents (
  messages: readonly ChatMessage[], traits: GeminiTraits, readPart: ReadPart
): Promise<Conversation> {
  const system: string[] = []
  const turns: Content[] = []
  const names = new Map<string, string>()

  async function partsOf (message: ChatMessage, param: string): Promise<Part[]> {
    switch (message.role) {
      case 'system':
      case 'developer':
        system.push(textOf(message.content))
        return []
      case 'user': {
        if (typeof message.content === 'string') return [{ text: message.content }]
        return await Promise.all(message.content.map((part, index) => readPart(part, `${param}.content[${index}]`)))
      }
      case 'assistant': return saidParts(message, traits, names, param)
      case 'tool': return [responsePart(message.tool_call_id, textOf(message.content), names, param)]
      case 'function': return [toResponse(undefined, message.name, message.content ?? '')]
    }
  }

  const read = await Promise.all(messages.map((message, index) => partsOf(message, `messages[${index}]`)))
  for (const [index, parts] of read.entries()) {
    addTurn(turns, messages[index]?.role === 'assistant' ? 'model' : 'user', parts.filter(saysSomething))
  }
  const text = system.filter(one => one !== '').join('\n\n')
  // Models without system instructions, and conversations of system messages alone, get them as user text.
  if (text !== '' && (!traits.takesSystem || turns.length === 0)) {
    return { contents: withOpening(turns, text), system: '' }
  }
  if (turns.length === 0) throw unsupportedField('At least one message must have content.', 'messages', 'invalid_value')
  return { contents: turns, system: text }
}

function addTurn (turns: Content[], role: Content['role'], parts: Part[]): void {
  const last = turns.at(-1)
  if (parts.length === 0) return
  if (last?.role === role) last.parts.push(...parts)
  else turns.push({ role, parts })
}

/** The API refuses empty text. */
function saysSomething (part: Part): boolean {
  return !('text' in part) || part.text !== '' || part.thoughtSignature !== undefined
}

function withOpening (turns: Content[], text: string): Content[] {
  const [first, ...others] = turns
  if (first?.role !== 'user') return [{ role: 'user', parts: [{ text }] }, ...turns]
  return [{ role: 'user', parts: [{ text }, ...first.parts] }, ...others]
}

type Assistant = Extract<ChatMessage, { role: 'assistant' }>

function saidParts (
  message: Assistant, { wantsSignatures }: GeminiTraits, names: Map<string, string>, param: string
): Part[] {
  const calls = (message.tool_calls ?? []).map((call, index) => callPart(call, names, `${param}.tool_calls[${index}]`))
  const { function_call: legacy } = message
  if (legacy !== undefined && legacy !== null) {
    calls.push(toCall(undefined, legacy.name, legacy.arguments, signatureIn(legacy)))
  }
  const [first] = calls
  const isSigned = calls.some(({ thoughtSignature }) => thoughtSignature !== undefined)
  // The first of parallel calls carries the signature for all.
  if (first !== undefined && wantsSignatures && !isSigned) first.thoughtSignature = unknownSignature
  const text = textOf(message.content ?? '') + (message.refusal ?? '')
  const signature = signatureIn(message)
  return [{ text, ...(signature === null ? {} : { thoughtSignature: signature }) }, ...calls]
}

function callPart (call: ToolCall, names: Map<string, string>, param: string): FunctionCallPart {
  if (call.type === 'custom') throw unsupportedField('This model\'s provider supports only function tools.', param)
  const { id, signature } = readCallId(call.id)
  names.set(id, call.function.name)
  return toCall(id, call.function.name, call.function.arguments, signatureIn(call) ?? signature)
}

function toCall (
  id: string | undefined, name: string, text: string, signature: string | null
): FunctionCallPart {
  return {
    functionCall: { ...(id === undefined ? {} : { id }), name, args: argumentsIn(text) },
    ...(signature === null ? {} : { thoughtSignature: signature })
  }
}

/** Gemini accepts only objects, but another model may have written anything. */
function argumentsIn (text: string): JsonObject {
  if (text.trim() === '') return {}
  const value = parsed(text)
  return isObject(value) ? value : { arguments: value ?? text }
}

/** The result of a call. OpenAI's message has only the call's id; the name is in the call itself. */
function responsePart (
  callId: string, text: string, names: ReadonlyMap<string, string>, param: string
): FunctionResponsePart {
  const { id } = readCallId(callId)
  const name = names.get(id)
  if (name !== undefined) return toResponse(id, name, text)
  const message = `No tool call of an earlier message has the id '${callId}'.`
  throw unsupportedField(message, `${param}.tool_call_id`, 'invalid_value')
}

function toResponse (id: string | undefined, name: string, text: string): FunctionResponsePart {
  const value = parsed(text)
  // Gemini takes a `$ref` in a result for a reference to a file.
  const isSafe = isObject(value) && !text.includes('"$ref"')
  const response = isSafe ? value : { result: isObject(value) ? text : value ?? text }
  return { functionResponse: { ...(id === undefined ? {} : { id }), name, response } }
}

function parsed (text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

type TextLike = string | readonly ({ type: 'text', text: string } | { type: 'refusal', refusal: string })[]

function textOf (content: TextLike): string {
  if (typeof content === 'string') return content
  return content.map(part => part.type === 'text' ? part.text : part.refusal).join('')
}
