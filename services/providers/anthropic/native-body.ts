import { isObject, isText, type JsonObject, type JsonText } from '../../shared/json.ts'
import { effectiveLimit } from '../../shared/request-fields.ts'
import type { MessagesCall } from '../provider.ts'
import { sealMark } from './thinking-signature.ts'

/** Fields of the gateway alone. */
const ownFields = ['fallbacks', 'routing'] as const
/** The API's smallest thinking budget; it must be below `max_tokens`. */
const leastBudget = 1024

/**
 * The body of a call as the client wrote it, but for `members` such as the model, the output limit and the
 * number of searches that are paid for, for tags, and for blocks of earlier answers that only this gateway
 * can read.
 */
export function nativeBody (call: MessagesCall, members: JsonObject): Uint8Array {
  const { original, body: request, outputLimit, maxOutput, maxSearches } = call
  const body = isObject(original.value) ? original.value : {}
  const edits = commonEdits(original, members)
  const limit = Math.min(effectiveLimit({ body: request, outputLimit }) ?? Infinity, maxOutput ?? Infinity)
  if (Number.isFinite(limit) && body.max_tokens !== limit) {
    edits.set('max_tokens', limit)
    if (isObject(body.thinking)) edits.set('thinking', thinkingWithin(body.thinking, limit))
  }
  const metadata = ownMetadata(body.metadata)
  if (metadata !== body.metadata) edits.set('metadata', metadata)
  const tools = boundedTools(body.tools, maxSearches)
  if (tools !== body.tools) edits.set('tools', tools)
  return original.with(edits)
}

/** The body of a request to count tokens. */
export function countedBody (original: JsonText, members: JsonObject): Uint8Array {
  return original.with(commonEdits(original, members))
}

function commonEdits ({ value }: JsonText, members: JsonObject): Map<string, unknown> {
  const body = isObject(value) ? value : {}
  const edits = new Map(Object.entries(members).filter(([name, member]) => body[name] !== member))
  for (const name of ownFields) if (body[name] !== undefined) edits.set(name, undefined)
  const messages = readableMessages(body.messages)
  if (messages !== body.messages) edits.set('messages', messages)
  return edits
}

/** The API takes the user's id alone; tags are the gateway's. */
function ownMetadata (metadata: unknown): unknown {
  if (!isObject(metadata)) return metadata
  const { user_id: id, ...others } = metadata
  if (Object.keys(others).length === 0) return metadata
  return id === undefined ? undefined : { user_id: id }
}

/** A budget that is below the limit; no thinking where the limit leaves no room for it. */
function thinkingWithin (thinking: JsonObject, limit: number): JsonObject | undefined {
  const { budget_tokens: budget } = thinking
  if (typeof budget !== 'number' || budget < limit) return thinking
  return limit > leastBudget ? { ...thinking, budget_tokens: Math.max(leastBudget, limit - 1) } : undefined
}

function boundedTools (tools: unknown, maxSearches: number): unknown {
  if (!Array.isArray(tools)) return tools
  const bounded = tools.map((tool: unknown) => {
    if (!isObject(tool) || !isText(tool.type) || !tool.type.startsWith('web_search_')) return tool
    const { max_uses: most } = tool
    return typeof most === 'number' && most <= maxSearches ? tool : { ...tool, max_uses: maxSearches }
  })
  return bounded.every((tool, at) => tool === tools[at]) ? tools : bounded
}

/**
 * Messages without the thoughts of other models, whose signatures the API refuses, and with ids of tool calls
 * that it takes; the same array if nothing changes.
 */
function readableMessages (messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  const readable = messages.map((message: unknown) => {
    if (!isObject(message) || !Array.isArray(message.content)) return message
    const { content } = message
    const blocks = content.filter(block => !isForeignThought(block)).map(withSafeId)
    const isSame = blocks.length === content.length && blocks.every((block, at) => block === content[at])
    return isSame ? message : { ...message, content: blocks }
  })
  return readable.every((message, at) => message === messages[at]) ? messages : readable
}

function isForeignThought (block: unknown): boolean {
  if (!isObject(block) || block.type !== 'thinking') return false
  return !isText(block.signature) || block.signature.startsWith(sealMark)
}

function withSafeId (block: unknown): unknown {
  if (!isObject(block)) return block
  const name = block.type === 'tool_use' ? 'id' : block.type === 'tool_result' ? 'tool_use_id' : null
  const id = name === null ? undefined : block[name]
  if (name === null || typeof id !== 'string' || /^[\w-]+$/.test(id)) return block
  return { ...block, [name]: safeId(id) }
}

/** Tool call ids of other providers may contain characters that Anthropic refuses. */
export function safeId (id: string): string {
  return id.replace(/[^\w-]/g, '_') || '_'
}
