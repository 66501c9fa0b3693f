import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'

export interface ChatContext {
  /** The first system or developer message, truncated; empty if there is none. */
  instructions: string
  userText: string
  /** `userText`, truncated; topics, quotations and values are extracted from it. */
  readText: string
  turns: number
  attached: AttachmentCounts
  /** The trailing tool results, oldest first. */
  toolResults: ToolResult[]
}

export interface AttachmentCounts { image: number, audio: number, file: number, video: number }

export interface ToolResult { name: string, content: string }

/** Reads the messages of a validated request. */
export function readChatContext ({ messages }: ChatCompletionRequest): ChatContext {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  const users = messages.filter(({ role }) => role === 'user')
  const last = users.at(-1)
  const userText = last === undefined ? '' : visibleText(last)
  return {
    instructions: system === undefined ? '' : visibleText(system).slice(0, maxReadLength),
    userText,
    readText: userText.slice(0, maxReadLength),
    turns: users.length,
    attached: countAttachments(last),
    toolResults: toolResultsOf(messages)
  }
}

/** The text parts of a message, joined by newlines. */
export function visibleText ({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const part of content ?? []) {
    if (part.type === 'text') texts.push(part.text)
    if (part.type === 'refusal') texts.push(part.refusal)
  }
  return texts.join('\n')
}

/** Counts the images, audio clips, files and videos of a message. */
export function countAttachments (message: ChatMessage | undefined): AttachmentCounts {
  const attached = { image: 0, audio: 0, file: 0, video: 0 }
  if (message?.role !== 'user' || typeof message.content === 'string') return attached
  for (const part of message.content) {
    if (part.type === 'image_url') attached.image++
    if (part.type === 'input_audio') attached.audio++
    if (part.type === 'file') attached.file++
    if (part.type === 'video_url') attached.video++
  }
  return attached
}

// Bounds the cost of a reply to a long prompt.
const maxReadLength = 4_000

function toolResultsOf (messages: readonly ChatMessage[]): ToolResult[] {
  const lastOther = messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'function')
  const names = namesOfCalls(messages[lastOther])
  const results: ToolResult[] = []
  for (const message of messages.slice(lastOther + 1)) {
    const content = visibleText(message).slice(0, maxReadLength)
    if (message.role === 'function') results.push({ name: message.name, content })
    if (message.role === 'tool') results.push({ name: names.get(message.tool_call_id) ?? 'you called', content })
  }
  return results
}

function namesOfCalls (message: ChatMessage | undefined): Map<string, string> {
  const calls = message?.role === 'assistant' ? message.tool_calls ?? [] : []
  return new Map(calls.map(call => [call.id, call.type === 'function' ? call.function.name : call.custom.name]))
}
