import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import {
  effectiveLimit, type ExtraField, extraFields, lengthRole, withMember
} from '../../shared/request-fields.ts'
import type { ChatCall, CompletionCall, ProviderCall } from '../provider.ts'
import { isObject } from '../../shared/json.ts'
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
  call: ProviderCall<ChatCall['request'] | CompletionCall['request']>, dialect: Dialect
): RequestEdits {
  const { request, model } = call
  const edits = new Map<string, unknown>()
  const fields: Record<string, unknown> = request
  if (request.model !== model) edits.set('model', model)
  const unmet = limitOutput(call, dialect, edits)
  for (const [field, name] of Object.entries(dialect.rename)) {
    if (fields[field] === undefined) continue
    edits.set(field, undefined).set(name, fields[field])
  }
  const row = dialect.reasoning.find(({ models }) => models.test(model))
  const dropped = [...unmet, ...drop(fields, dialect.drop, edits)]
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

const bothLimits = ['max_tokens', 'max_completion_tokens'] as const
const legacyLimits = ['max_tokens'] as const

/**
 * Sends one output limit, the least of all that were set, under the upstream's own names; nothing else that
 * bounds the length may exceed it. Returns the names of minimums that were dropped because they do.
 */
function limitOutput (
  call: ProviderCall<ChatCall['request'] | CompletionCall['request']>, dialect: Dialect, edits: Map<string, unknown>
): string[] {
  const fields: Record<string, unknown> = call.request
  const names: readonly string[] = isChat(fields) ? dialect.limitFields : legacyLimits
  const wanted = effectiveLimit(call)
  const limit = wanted === 0 && !dialect.takesZeroLimit ? 1 : wanted
  const most = limit ?? call.maxOutput ?? null
  for (const name of bothLimits) {
    if (names.includes(name) && limit !== null) {
      if (fields[name] !== limit) edits.set(name, limit)
    } else if (fields[name] !== undefined && !names.includes(name)) edits.set(name, undefined)
  }
  const unmet: string[] = []
  for (const field of extraFields(call.request)) {
    const role = lengthRole(field)
    if (role === 'limit') setMember(fields, field, undefined, edits)
    if (most === null || typeof field.value !== 'number' || field.value <= most) continue
    if (role === 'budget') setMember(fields, field, most, edits)
    if (role !== 'minimum') continue
    setMember(fields, field, undefined, edits)
    unmet.push(field.path.join('.'))
  }
  return unmet
}

function setMember (
  fields: Record<string, unknown>, { path: [name = '', ...inner] }: ExtraField, value: unknown,
  edits: Map<string, unknown>
): void {
  const before = edits.get(name) ?? fields[name]
  edits.set(name, inner.length > 0 && isObject(before) ? withMember(before, inner, value) : value)
}

function isChat (fields: Record<string, unknown>): boolean {
  return fields.messages !== undefined
}
