import type {
  AssistantMessage, ChatMessage, SystemMessage, TextPart, ToolCall, ToolMessage, UserMessage, UserPart
} from '../../../schemas/openai/chat-messages.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { fileBlock, imageBlock } from './media.ts'
import { safeId } from './native-body.ts'
import { invalid, unsupportedFeature } from '../refuse.ts'
import { fromReasoningDetails, fromExtraContent } from './thinking-signature.ts'
import type { Block, AnthropicCacheControl, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, Turn } from './wire.ts'

export interface Conversation { system: TextBlock[], turns: Turn[], dropped: Set<string> }

/** Converts OpenAI messages to Anthropic's turns. Throws UpstreamError (400) for what has no equivalent. */
export function convertToMessages (messages: readonly ChatMessage[]): Conversation {
  const found = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const start = found === -1 ? messages.length : found
  const dropped = new Set<string>()
  const open: OpenTurn[] = []
  const called = new Set<string>()
  messages.slice(start).forEach((message, at) => {
    const param = `messages[${start + at}]`
    if (message.role === 'assistant') for (const { id } of message.tool_calls ?? []) called.add(id)
    if (message.role === 'tool' && !called.has(message.tool_call_id)) throw orphaned(message, param)
    const [role, blocks] = blocksOf(message, param, dropped)
    if ('name' in message && message.name !== undefined && message.role !== 'function') dropped.add('messages[].name')
    add(open, role, cached(blocks, message, dropped))
  })
  const turns = open.map(({ role, results, others }): Turn => ({ role, content: [...results, ...others] }))
  trimEnd(turns.at(-1))
  if (turns.length === 0) throw invalid('messages', 'At least one message must have content.')
  const system = messages.slice(0, start).flatMap(message => {
    const isInstruction = message.role === 'system' || message.role === 'developer'
    return isInstruction ? cached(textsOf(message.content, dropped), message, dropped) : []
  })
  return { system, turns, dropped }
}

function blocksOf (message: ChatMessage, param: string, dropped: Set<string>): [Turn['role'], Block[]] {
  switch (message.role) {
    case 'user': return ['user', userBlocks(message, param, dropped)]
    case 'assistant': return ['assistant', assistantBlocks(message, param, dropped)]
    case 'tool': return ['user', [toolResult(message, dropped)]]
    case 'function': throw unsupportedFeature(`${param}.role`, 'the role `function`; use tools')
    // The API has no system messages in mid-conversation.
    default: return ['user', instruction(message, dropped)]
  }
}

function instruction ({ content }: SystemMessage, dropped: Set<string>): TextBlock[] {
  return textsOf(content, dropped).map(block => ({ ...block, text: `<system>\n${block.text}\n</system>` }))
}

function userBlocks ({ content }: UserMessage, param: string, dropped: Set<string>): Block[] {
  if (typeof content === 'string') return textsOf(content, dropped)
  return content.flatMap((part, at) => {
    const place = `${param}.content[${at}]`
    if (part.type === 'text') return textsOf([part], dropped)
    if (part.type === 'image_url' && (part.image_url.detail ?? 'auto') !== 'auto') dropped.add('image_url.detail')
    return cached([mediaBlock(part, place)], part, dropped)
  })
}

function mediaBlock (part: Exclude<UserPart, TextPart>, place: string): Block {
  if (part.type === 'image_url') return imageBlock(part, `${place}.image_url`)
  if (part.type === 'file') return fileBlock(part, `${place}.file`)
  throw unsupportedFeature(place, part.type === 'input_audio' ? 'audio' : 'videos')
}

function assistantBlocks (message: AssistantMessage, param: string, dropped: Set<string>): Block[] {
  const { content, refusal, tool_calls: calls = [] } = message
  if (message.function_call) throw unsupportedFeature(`${param}.function_call`, 'function calls; use tools')
  if (message.audio) throw unsupportedFeature(`${param}.audio`, 'audio')
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content ?? []
  const texts = parts.flatMap(part => textsOf(part.type === 'refusal' ? part.refusal : [part], dropped))
  if (texts.length === 0 && refusal) texts.push(...textsOf(refusal, dropped))
  const uses = calls.flatMap((call, at) => [...thinkingOf(call), toolUse(call, `${param}.tool_calls[${at}]`)])
  // Thinking carried by the tool calls is complete and in order; the message's own copy is the fallback.
  const isCarried = uses.some(({ type }) => type !== 'tool_use')
  const thoughts = isCarried ? [] : fromReasoningDetails(fieldsOf(message).reasoning_details)
  const first = uses.findIndex(({ type }) => type === 'tool_use')
  return [...thoughts, ...uses.slice(0, Math.max(0, first)), ...texts, ...uses.slice(Math.max(0, first))]
}

function thinkingOf (call: ToolCall): ThinkingBlock[] {
  return fromExtraContent(fieldsOf(call).extra_content)
}

function toolUse (call: ToolCall, param: string): ToolUseBlock {
  if (call.type === 'custom') throw unsupportedFeature(param, 'custom tools; use functions')
  const { id, function: { name, arguments: text } } = call
  return { type: 'tool_use', id: safeId(id), name, input: toolInput(text) }
}

/** The input of a tool must be an object, but a model may have written anything. */
export function toolInput (text: string): JsonObject {
  if (text.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : { arguments: value }
  } catch {
    return { arguments: text }
  }
}

function toolResult ({ tool_call_id: id, content }: ToolMessage, dropped: Set<string>): ToolResultBlock {
  const texts = textsOf(content, dropped)
  return { type: 'tool_result', tool_use_id: safeId(id), ...(texts.length === 0 ? {} : { content: texts }) }
}

/** The API refuses the result of a call that it cannot find, in words about blocks of its wire. */
function orphaned ({ tool_call_id: id }: ToolMessage, param: string): Error {
  return invalid(`${param}.tool_call_id`, `No tool call of an earlier message has the id '${id}'.`)
}

function textsOf (content: string | readonly TextPart[], dropped: Set<string>): TextBlock[] {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content
  return parts.filter(({ text }) => text.trim() !== '')
    .flatMap(part => cached([{ type: 'text', text: part.text }], part, dropped))
}

/** The blocks, the last with `cache_control` if `from` carries a cache breakpoint. */
function cached<One extends Block> (blocks: One[], from: object, dropped: Set<string>): One[] {
  const last = blocks.at(-1)
  const control = cacheControlIn(from, dropped)
  if (control === null || last === undefined || last.type === 'thinking' || last.type === 'redacted_thinking') {
    return blocks
  }
  return [...blocks.slice(0, -1), { ...last, cache_control: control }]
}

/**
 * Reads `cache_control` or `prompt_cache_breakpoint`. Both lifetimes need no beta header: the API's stable
 * types have them. Others have no price and are dropped.
 */
export function cacheControlIn (from: object, dropped: Set<string>): AnthropicCacheControl | null {
  const { cache_control: own, prompt_cache_breakpoint: breakpoint } = fieldsOf(from)
  if (isObject(own)) {
    const { ttl } = own
    if (ttl === '5m' || ttl === '1h') return { type: 'ephemeral', ttl }
    if (ttl !== undefined) dropped.add('cache_control.ttl')
  }
  return isObject(own) || isObject(breakpoint) ? { type: 'ephemeral' } : null
}

function fieldsOf (value: object): JsonObject {
  return { ...value }
}

/** A turn while it is put together: the API wants the results of tools before all else. */
interface OpenTurn { role: Turn['role'], results: Block[], others: Block[] }

function add (turns: OpenTurn[], role: Turn['role'], blocks: Block[]): void {
  if (blocks.length === 0) return
  let last = turns.at(-1)
  if (last?.role !== role) {
    last = { role, results: [], others: [] }
    turns.push(last)
  }
  for (const block of blocks) (block.type === 'tool_result' ? last.results : last.others).push(block)
}

/** The API refuses a final assistant message (a prefill) that ends in white space. */
function trimEnd (turn: Turn | undefined): void {
  const last = turn?.content.at(-1)
  if (turn?.role === 'assistant' && last?.type === 'text') last.text = last.text.trimEnd()
}
