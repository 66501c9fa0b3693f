import { createHash } from 'node:crypto'
import type {
  AssistantMessage, ChatMessage, SystemMessage, TextPart, UserMessage
} from '../../../schemas/openai/chat-messages.ts'
import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { PromptRules } from './prompt-rules.ts'

/**
 * The messages in the form that an upstream takes; a message in which nothing changes is the same object, and
 * without any change the list is the same too.
 */
export function promptFor (messages: readonly ChatMessage[], rules: PromptRules): readonly ChatMessage[] {
  const ordered = rules.system === 'one-first' ? withSystemFirst(messages) : messages
  const formed = ordered.map(message => messageFor(message, rules))
  const isSame = formed.length === messages.length && formed.every((message, at) => message === messages[at])
  return isSame ? messages : formed
}

/** The id of a tool call, or a short form of it: the same for the call and its result, in every request. */
export function callIdFor (id: string, callIds: PromptRules['callIds']): string {
  if (callIds === null || callIds.taken.test(id)) return id
  return createHash('sha256').update(id).digest('hex').slice(0, callIds.length)
}

/** Sets and removes the members of a request that name its tools, as the upstream takes them. */
export function toolEdits (
  { tools, tool_choice: choice }: ChatCompletionRequest, { needsParameters }: PromptRules,
  edits: Map<string, unknown>
): void {
  if (tools?.length === 0 && (choice == null || choice === 'auto' || choice === 'none')) {
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls']) edits.set(name, undefined)
  }
  if (!needsParameters || tools === undefined || !tools.some(lacksParameters)) return
  edits.set('tools', tools.map(tool => {
    if (tool.type !== 'function' || !lacksParameters(tool)) return tool
    return { ...tool, function: { ...tool.function, parameters: { type: 'object', properties: {} } } }
  }))
}

type Tool = NonNullable<ChatCompletionRequest['tools']>[number]

function lacksParameters (tool: Tool): boolean {
  return tool.type === 'function' && Object.keys(tool.function.parameters ?? {}).length === 0
}

function isSystem (message: ChatMessage): message is SystemMessage {
  return message.role === 'system' || message.role === 'developer'
}

/** One system message at the beginning; later ones are marked texts of the user. */
function withSystemFirst (messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const found = messages.findIndex(message => !isSystem(message))
  const start = found === -1 ? messages.length : found
  if (start < 2 && !messages.slice(start).some(isSystem)) return messages
  const [first, ...more] = messages.slice(0, start).filter(isSystem)
  const opening = more.reduce(
    (one, { content }) => one && { ...one, content: joined(one.content, content) }, first)
  const others: ChatMessage[] = []
  let wasInstruction = false
  for (const message of messages.slice(start)) {
    const isInstruction = isSystem(message)
    const next = isInstruction ? asUser(message) : message
    const last = others.at(-1)
    // Templates may want the roles to alternate.
    if (next.role === 'user' && last?.role === 'user' && (isInstruction || wasInstruction)) {
      others[others.length - 1] = { ...last, content: joined(last.content, next.content) }
    } else others.push(next)
    wasInstruction = isInstruction
  }
  return opening === undefined ? others : [opening, ...others]
}

function asUser ({ content }: SystemMessage): UserMessage {
  const marked = (text: string): string => `<system>\n${text}\n</system>`
  if (typeof content === 'string') return { role: 'user', content: marked(content) }
  return { role: 'user', content: content.map(part => ({ ...part, text: marked(part.text) })) }
}

/** Two contents as one: texts alone as a text, which all servers take. */
function joined<Part> (one: string | Part[], other: string | Part[]): string | (Part | TextPart)[] {
  if (typeof one === 'string' && typeof other === 'string') return `${one}\n\n${other}`
  return [one, other].flatMap((content): (Part | TextPart)[] =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content)
}

function messageFor (message: ChatMessage, { callIds, refusesEmptyText }: PromptRules): ChatMessage {
  if (message.role === 'tool') {
    const id = callIdFor(message.tool_call_id, callIds)
    return id === message.tool_call_id ? message : { ...message, tool_call_id: id }
  }
  return message.role === 'assistant' && message.tool_calls != null
    ? assistantFor(message, callIds, refusesEmptyText)
    : message
}

function assistantFor (
  message: AssistantMessage, callIds: PromptRules['callIds'], refusesEmptyText: boolean
): AssistantMessage {
  const { tool_calls: calls = [], content } = message
  const isEmpty = refusesEmptyText && content === '' && calls.length > 0
  const isFitting = callIds === null || calls.every(({ id }) => callIds.taken.test(id))
  if (isFitting && !isEmpty) return message
  return {
    ...message,
    ...(isEmpty ? { content: null } : {}),
    tool_calls: calls.map(call => ({ ...call, id: callIdFor(call.id, callIds) }))
  }
}
