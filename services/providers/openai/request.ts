import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import type { ChatCall, CompletionCall, ProviderCall } from '../provider.ts'
import type { Dialect, ReasoningRow } from './dialects.ts'

interface RequestEdits {
  /** Members of the body to set (a value) or leave out (undefined). */
  edits: Map<string, unknown>
  dropped: string[]
  /** The gateway requests usage for itself; it must be hidden from the client. */
  hideUsage: boolean
}

/** The changes that a client's body needs for this upstream; in most requests nearly none. */
export function requestEdits (
  { request, model, outputLimit }: ProviderCall<ChatCall['request'] | CompletionCall['request']>,
  dialect: Dialect
): RequestEdits {
  const edits = new Map<string, unknown>()
  const fields: Record<string, unknown> = request
  if (request.model !== model) edits.set('model', model)
  limitOutput(fields, dialect, edits)
  if (outputLimit !== null) edits.set(isChat(fields) ? dialect.maxTokensField ?? 'max_tokens' : 'max_tokens', outputLimit)
  for (const [field, name] of Object.entries(dialect.rename)) {
    if (fields[field] === undefined) continue
    edits.set(field, undefined).set(name, fields[field])
  }
  const row = dialect.reasoning.find(({ models }) => models.test(model))
  const dropped = drop(fields, dialect.drop, edits)
  if (row !== undefined && isChat(fields)) {
    const isReasoning = fields.reasoning_effort !== 'none'
    dropped.push(...drop(fields, row.drop, edits, neutral))
    if (isReasoning) dropped.push(...drop(fields, row.dropWhileReasoning, edits, neutral))
  }
  rewriteChat(request, dialect, row, edits)
  const hideUsage = request.stream === true && request.stream_options?.include_usage !== true
  if (hideUsage && dialect.streamUsage) {
    edits.set('stream_options', { ...request.stream_options, include_usage: true })
  } else if (request.stream === true && !dialect.streamUsage && request.stream_options !== undefined) {
    edits.set('stream_options', undefined)
  }
  return { edits, dropped, hideUsage }
}

/** Default values, which are accepted even where the field is refused. */
const neutral: Readonly<Record<string, unknown>> = {
  temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0, logprobs: false
}

/** Drops fields, and returns the names of those that were not null. */
function drop (
  fields: Record<string, unknown>, names: readonly string[], edits: Map<string, unknown>,
  kept: Readonly<Record<string, unknown>> = {}
): string[] {
  const present = names.filter(name => fields[name] !== undefined && fields[name] !== kept[name])
  for (const name of present) edits.set(name, undefined)
  return present.filter(name => fields[name] !== null)
}

function rewriteChat (
  request: ChatCall['request'] | CompletionCall['request'], dialect: Dialect, row: ReasoningRow | undefined,
  edits: Map<string, unknown>
): void {
  if (!('messages' in request)) return
  const roles = row === undefined ? dialect.roles : { ...dialect.roles, ...row.roles }
  const messages = messagesFor(request.messages, roles, dialect.prefill)
  if (messages !== null) edits.set('messages', messages)
  const choice = typeof request.tool_choice === 'string' ? dialect.toolChoices[request.tool_choice] : undefined
  if (choice !== undefined) edits.set('tool_choice', choice)
}

/** The messages with the upstream's roles and prefill; null when nothing changes and they pass as bytes. */
function messagesFor (
  messages: readonly ChatMessage[], roles: Dialect['roles'], prefill: Dialect['prefill']
): object[] | null {
  const last = messages.at(-1)
  const isPrefilled = last?.role === 'assistant' && Object.keys(prefill).length > 0
  if (!isPrefilled && !messages.some(({ role }) => roles[role] !== undefined)) return null
  return messages.map(message => ({
    ...message,
    role: roles[message.role] ?? message.role,
    ...(message === last && isPrefilled ? prefill : {})
  }))
}

/** Renames the output limit for the upstream; the newer of OpenAI's two names wins. */
function limitOutput (fields: Record<string, unknown>, dialect: Dialect, edits: Map<string, unknown>): void {
  const wanted = dialect.maxTokensField
  if (wanted === null || !isChat(fields)) return
  const other = wanted === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
  if (fields[other] === undefined) return
  edits.set(other, undefined)
  const limit = fields.max_completion_tokens ?? fields.max_tokens
  if (limit !== fields[wanted]) edits.set(wanted, limit)
}

function isChat (fields: Record<string, unknown>): boolean {
  return fields.messages !== undefined
}
