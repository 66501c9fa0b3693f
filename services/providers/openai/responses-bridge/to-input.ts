import type {
  AssistantMessage, ChatMessage, ToolCall, UserPart
} from '../../../../schemas/openai/chat-messages.ts'
import type { JsonObject } from '../../../shared/json.ts'
import { unsupportedFeature } from '../../refuse.ts'
import { readPastCopy, readPastDetails, toReasoningItem } from './past-reasoning.ts'

export interface InputOptions {
  /** Whose encrypted reasoning the provider can read; null: none is sent. */
  format: string | null
  /** Whether the model knows phases of messages: those before a tool call are commentary. */
  phases: boolean
}

/**
 * The messages of a chat as input items. Adds the names of dropped members to `dropped`. Throws UpstreamError
 * (400) for what has no equivalent. Source: openai@7.59.0 resources/responses, ResponseInputItem.
 */
export function toInput (
  messages: readonly ChatMessage[], options: InputOptions, dropped: Set<string>
): JsonObject[] {
  /** The ids of calls of custom tools, whose results have a type of their own. */
  const customCalls = new Set<string>()
  return messages.flatMap((message, at): JsonObject[] => {
    const param = `messages[${at}]`
    const { role } = message
    if (role === 'function') throw unsupportedFeature(`${param}.role`, 'the role `function`; use tools')
    if ('name' in message && message.name !== undefined) dropped.add('messages[].name')
    if (role === 'assistant') {
      for (const call of message.tool_calls ?? []) if (call.type === 'custom') customCalls.add(call.id)
      return assistantItems(message, options, param)
    }
    const content = toContent(message.content, param)
    if (role !== 'tool') return [{ role, content }]
    const { tool_call_id: id } = message
    const type = customCalls.has(id) ? 'custom_tool_call_output' : 'function_call_output'
    return [{ type, call_id: id, output: content }]
  })
}

function assistantItems (
  message: AssistantMessage, { format, phases }: InputOptions, param: string
): JsonObject[] {
  if (message.function_call) throw unsupportedFeature(`${param}.function_call`, 'function calls; use tools')
  if (message.audio) throw unsupportedFeature(`${param}.audio`, 'audio')
  const { tool_calls: calls = [] } = message
  const text = textOf(message)
  const phase = calls.length === 0 ? 'final_answer' : 'commentary'
  const written = text === '' ? [] : [{ role: 'assistant', content: text, ...(phases ? { phase } : {}) }]
  const called = calls.flatMap(call => [...reasoningOf(call, format), callItem(call)])
  // What the calls carry is complete and in order; the message's own copy is the fallback.
  const isCarried = called.length > calls.length
  const details: unknown = Reflect.get(message, 'reasoning_details')
  const own = isCarried || format === null ? [] : readPastDetails(details, format).map(toReasoningItem)
  const first = called.findIndex(({ type }) => type !== 'reasoning')
  const before = called.slice(0, Math.max(0, first))
  return [...own, ...before, ...written, ...called.slice(before.length)]
}

function textOf ({ content, refusal }: AssistantMessage): string {
  const parts = typeof content === 'string' ? [content] : content ?? []
  const text = parts.map(part => typeof part === 'string' ? part : part.type === 'text' ? part.text : part.refusal)
  return text.join('') || (refusal ?? '')
}

function reasoningOf (call: ToolCall, format: string | null): JsonObject[] {
  return format === null ? [] : readPastCopy(call, format).map(toReasoningItem)
}

function callItem (call: ToolCall): JsonObject {
  if (call.type === 'custom') return { type: 'custom_tool_call', call_id: call.id, ...call.custom }
  const { name, arguments: text } = call.function
  return { type: 'function_call', call_id: call.id, name, arguments: text }
}

function toContent (content: string | readonly UserPart[], param: string): string | JsonObject[] {
  if (typeof content === 'string') return content
  return content.map((part, at) => toPart(part, `${param}.content[${at}]`))
}

function toPart (part: UserPart, param: string): JsonObject {
  switch (part.type) {
    case 'text': return { type: 'input_text', text: part.text, ...breakpointOf(part) }
    case 'image_url': {
      const { url, detail = 'auto' } = part.image_url
      return { type: 'input_image', image_url: url, detail, ...breakpointOf(part) }
    }
    case 'file': {
      const { file_data: data, ...file } = part.file
      const bytes = data === undefined ? {} : /^https?:/.test(data) ? { file_url: data } : { file_data: data }
      return { type: 'input_file', ...file, ...bytes, ...breakpointOf(part) }
    }
    case 'input_audio': return { type: 'input_audio', input_audio: part.input_audio }
    case 'video_url': throw unsupportedFeature(param, 'videos')
  }
}

function breakpointOf (part: { prompt_cache_breakpoint?: object }): JsonObject {
  const { prompt_cache_breakpoint: breakpoint } = part
  return breakpoint === undefined ? {} : { prompt_cache_breakpoint: breakpoint }
}
