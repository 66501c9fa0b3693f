import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'

/** What the sandbox takes up from a request's messages. */
export interface Conversation {
  /** The first system or developer message, cut to a bounded length; empty when there is none. */
  instructions: string
  /** The text of the last user message, whole. */
  userText: string
  /** The beginning of `userText`, in which topics, quotations and values are looked for. */
  readText: string
  /** How many user messages there are. */
  turns: number
  /** What is attached to the last user message. */
  attached: Attached
  /** The results the conversation ends with, oldest first; empty when its last message is not a tool's. */
  toolResults: ToolResult[]
}

/** How many of each kind of content, other than text, a message carries. */
export interface Attached { image: number, audio: number, file: number, video: number }

export interface ToolResult { name: string, content: string }

/** Reads the messages of a validated request. */
export function readConversation ({ messages }: ChatCompletionRequest): Conversation {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer')
  const users = messages.filter(({ role }) => role === 'user')
  const last = users.at(-1)
  const userText = last === undefined ? '' : textOf(last)
  return {
    instructions: system === undefined ? '' : textOf(system).slice(0, readUnits),
    userText,
    readText: userText.slice(0, readUnits),
    turns: users.length,
    attached: attachedTo(last),
    toolResults: toolResultsOf(messages)
  }
}

/** All text of a message, its parts on lines of their own. */
export function textOf ({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  const texts: string[] = []
  for (const part of content ?? []) {
    if (part.type === 'text') texts.push(part.text)
    if (part.type === 'refusal') texts.push(part.refusal)
  }
  return texts.join('\n')
}

/** Counts the images, audio clips, files and videos of a message. */
export function attachedTo (message: ChatMessage | undefined): Attached {
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

// So that a reply to a long text costs no more than a reply to a short one.
const readUnits = 4_000

function toolResultsOf (messages: readonly ChatMessage[]): ToolResult[] {
  const lastOther = messages.findLastIndex(({ role }) => role !== 'tool' && role !== 'function')
  const names = namesOfCalls(messages[lastOther])
  const results: ToolResult[] = []
  for (const message of messages.slice(lastOther + 1)) {
    const content = textOf(message).slice(0, readUnits)
    if (message.role === 'function') results.push({ name: message.name, content })
    if (message.role === 'tool') results.push({ name: names.get(message.tool_call_id) ?? 'you called', content })
  }
  return results
}

function namesOfCalls (message: ChatMessage | undefined): Map<string, string> {
  const calls = message?.role === 'assistant' ? message.tool_calls ?? [] : []
  return new Map(calls.map(call => [call.id, call.type === 'function' ? call.function.name : call.custom.name]))
}
