import type { ChatCompletion } from '../../../../schemas/openai/chat-completions.ts'
import type { ToolCall } from '../../../../schemas/openai/chat-messages.ts'
import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import type { FinishReason } from '../../provider.ts'
import { chatUsage } from '../responses/usage.ts'

/** The fields that every chunk of a completion repeats. */
export type HeadFields = Pick<ChatCompletion, 'id' | 'created' | 'model' | 'service_tier'>

/** The head of a response as that of a completion; `model`: the name if it states none. */
export function readHead (response: JsonObject, model: string): HeadFields {
  const { id, created_at: created, model: stated, service_tier: tier } = response
  return {
    id: `chatcmpl-${textOf(id).replace(/^resp_/, '')}`,
    created: typeof created === 'number' ? Math.floor(created) : Math.floor(Date.now() / 1000),
    model: isText(stated) ? stated : model,
    ...(isText(tier) ? { service_tier: tier } : {})
  }
}

/** Why a response has ended, in the words of chat. A reason outside the specification is `length`. */
export function readEnding (
  { status, incomplete_details: details }: JsonObject, hasCalls: boolean
): FinishReason {
  if (status !== 'incomplete') return hasCalls ? 'tool_calls' : 'stop'
  return isObject(details) && details.reason === 'content_filter' ? 'content_filter' : 'length'
}

/** The usage of a response in the form of chat; nothing if it has none. */
export function usageMember (response: JsonObject): Pick<ChatCompletion, 'usage'> {
  const usage = chatUsage(response)
  // `chatUsage` has checked the counts.
  return usage === null ? {} : { usage: usage as ChatCompletion['usage'] & JsonObject }
}

/** What an output item says. */
export interface ItemTexts { content: string, refusal: string, reasoning: string }

/** The texts of a message or of reasoning; its paragraphs are apart, as its summaries are. */
export function readItemTexts (item: JsonObject): ItemTexts {
  if (item.type === 'reasoning') {
    const summary = textsOf(item.summary, 'text')
    const texts = summary.length > 0 ? summary : textsOf(item.content, 'text')
    return { content: '', refusal: '', reasoning: texts.join(paragraph) }
  }
  if (item.type !== 'message') return { content: '', refusal: '', reasoning: '' }
  const [content, refusal] = [textsOf(item.content, 'text'), textsOf(item.content, 'refusal')]
  return { content: content.join(''), refusal: refusal.join(''), reasoning: '' }
}

/** Between two summaries, and between the texts of two items. */
export const paragraph = '\n\n'

function textsOf (parts: unknown, name: 'text' | 'refusal'): string[] {
  return Array.isArray(parts) ? parts.map(part => part?.[name]).filter(isText) : []
}

/** The call of a tool that the client runs; null for another item. */
export function readToolCall (item: JsonObject): ToolCall | null {
  const { type, arguments: args, input } = item
  const id = textOf(item.call_id) || textOf(item.id)
  const name = textOf(item.name)
  if (type === 'function_call') return { id, type: 'function', function: { name, arguments: textOf(args) } }
  return type === 'custom_tool_call' ? { id, type: 'custom', custom: { name, input: textOf(input) } } : null
}

const textOf = (value: unknown): string => typeof value === 'string' ? value : ''
