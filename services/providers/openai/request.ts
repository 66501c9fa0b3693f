import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import {
  effectiveLimit, type ExtraField, extraFields, lengthRole, withMember
} from '../../shared/request-fields.ts'
import type { ChatCall, CompletionCall, ProviderCall, UnmetParameters } from '../provider.ts'
import { isObject } from '../../shared/json.ts'
import type { Dialect } from './dialects.ts'
import { historyFor } from './history.ts'
import { promptFor, toolEdits } from './prompt.ts'
import type { ModelRules, RequestRules } from './request-rules.ts'
import { schemaInstruction } from '../schema-instruction.ts'

interface RequestEdits {
  /** Members of the body to set (a value) or leave out (undefined). */
  edits: Map<string, unknown>
  dropped: string[]
  /** The gateway requests usage for itself; it must be hidden from the client. */
  hideUsage: boolean
}

/** The changes that a client's body needs for this upstream; in most requests nearly none. */
export function requestEdits (
  call: ProviderCall<ChatCall['body'] | CompletionCall['body']>, dialect: Dialect
): RequestEdits {
  const { body, model } = call
  const edits = new Map<string, unknown>()
  const fields: Record<string, unknown> = body
  if (body.model !== model) edits.set('model', model)
  const unmet = limitOutput(call, dialect, edits)
  const { rules } = dialect
  for (const [field, name] of Object.entries(rules.rename)) {
    if (fields[field] === undefined) continue
    edits.set(field, undefined).set(name, fields[field])
  }
  const dropped = [...unmet, ...drop(fields, rules.drop, edits)]
  if (rules.conversation !== null && 'field' in rules.conversation) nameConversation(call, rules.conversation.field, edits)
  if ('messages' in body) dropped.push(...chatEdits(body, model, dialect, edits))
  const hideUsage = body.stream === true && body.stream_options?.include_usage !== true
  if (hideUsage && dialect.streamUsage) {
    edits.set('stream_options', { ...body.stream_options, include_usage: true })
  } else if (body.stream === true && !dialect.streamUsage && body.stream_options !== undefined) {
    edits.set('stream_options', undefined)
  }
  return { edits, dropped, hideUsage }
}

/** The parameters that the edits would take away or move, and those for which a request would be refused. */
export function unmetParameters (
  request: ChatCall['body'], model: string, { rules }: Dialect
): UnmetParameters {
  const edits = new Map<string, unknown>()
  const dropped = [...drop({ ...request }, rules.drop, edits), ...fieldEdits(request, model, rules, edits)]
  if (!rules.takesSchemas && request.response_format?.type === 'json_schema') dropped.push('response_format')
  return { dropped, refused: (request.n ?? 1) > (rules.maxChoices ?? Infinity) ? ['n'] : [] }
}

/** Names the conversation as the upstream does, unless the client has done so. */
function nameConversation (
  { body, conversation }: ProviderCall<object>, field: string, edits: Map<string, unknown>
): void {
  if (!('messages' in body) || Reflect.get(body, field)) return
  const id = conversation?.() ?? null
  if (id !== null) edits.set(field, id)
}

/** Default values, which are accepted even where the field is refused. */
const neutral: Readonly<Record<string, unknown>> = {
  temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0, logprobs: false, verbosity: 'medium'
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

/** Edits a chat request by the rules of its dialect and model, and returns the names of what is dropped. */
function chatEdits (
  request: ChatCall['body'], model: string, dialect: Dialect, edits: Map<string, unknown>
): string[] {
  const { rules } = dialect
  const dropped = fieldEdits(request, model, rules, edits)
  toolEdits(request, dialect.prompt, edits)
  const messages = messagesFor(request.messages, model, dialect, dropped)
  if (messages !== null) edits.set('messages', messages)
  if (!rules.takesSchemas && request.response_format?.type === 'json_schema') {
    const { schema } = request.response_format.json_schema
    const instruction = { role: 'system', content: schemaInstruction(schema) }
    edits.set('response_format', { type: 'json_object' }).set('messages', [instruction, ...messages ?? request.messages])
    dropped.push('response_format')
  }
  return dropped
}

/** The part of `chatEdits` that concerns single fields. */
function fieldEdits (
  request: ChatCall['body'], model: string, rules: RequestRules, edits: Map<string, unknown>
): string[] {
  const fields: Record<string, unknown> = request
  const row = rowOf(rules, model)
  const dropped = drop(fields, row.drop ?? [], edits, neutral)
  const refused = fields.reasoning_effort === 'none' ? [] : row.dropWhileReasoning ?? []
  dropped.push(...drop(fields, refused, edits, neutral))
  dropped.push(...editValues(fields, row.values ?? rules.values, edits))
  dropped.push(...clamp(fields, row.bounds ?? rules.bounds, edits))
  dropped.push(...editEffort(fields, row, row.efforts ?? rules.efforts, edits))
  return dropped
}

/** The rules of a model. */
export function rowOf ({ models }: RequestRules, model: string): ModelRules {
  return models.find(row => row.models.test(model)) ?? anyModel
}

const anyModel: ModelRules = { models: /^/ }

function editValues (
  fields: Record<string, unknown>, values: NonNullable<ModelRules['values']>, edits: Map<string, unknown>
): string[] {
  const dropped: string[] = []
  for (const [field, words] of Object.entries(values)) {
    const value = fields[field]
    const word = typeof value === 'string' ? words[value] : undefined
    if (word === undefined || edits.has(field)) continue
    edits.set(field, word ?? undefined)
    if (word === null) dropped.push(field)
  }
  return dropped
}

/** Moves numbers into their bounds, and returns their names. */
function clamp (
  fields: Record<string, unknown>, bounds: NonNullable<ModelRules['bounds']>, edits: Map<string, unknown>
): string[] {
  const moved: string[] = []
  for (const [field, [least, most]] of Object.entries(bounds)) {
    const value = fields[field]
    if (typeof value !== 'number' || edits.has(field) || (value >= least && value <= most)) continue
    edits.set(field, value < least ? least : most)
    moved.push(field)
  }
  return moved
}

/** Puts the upstream's members in place of an effort. The client's own members of that name are kept. */
function editEffort (
  fields: Record<string, unknown>, { forced }: ModelRules, efforts: NonNullable<ModelRules['efforts']>,
  edits: Map<string, unknown>
): string[] {
  const effort = fields.reasoning_effort
  const isForced = forced !== undefined && forcesTool(fields.tool_choice)
  const members = isForced ? forced : typeof effort === 'string' ? efforts[effort] : undefined
  if (members === undefined || edits.has('reasoning_effort')) return []
  const isRequested = typeof effort === 'string'
  if (isRequested) edits.set('reasoning_effort', undefined)
  for (const [name, value] of Object.entries(members)) {
    if (name === 'reasoning_effort' || fields[name] === undefined) edits.set(name, value)
  }
  const isLost = isForced ? effort !== 'none' : Object.keys(members).length === 0
  return isRequested && isLost ? ['reasoning_effort'] : []
}

function forcesTool (choice: unknown): boolean {
  if (!isObject(choice)) return choice === 'required'
  const { allowed_tools: allowed } = choice
  return !isObject(allowed) || allowed.mode === 'required'
}

/** The messages as the upstream takes them; null when nothing changes and they pass as bytes. */
function messagesFor (
  messages: readonly ChatMessage[], model: string, { prompt, prefill, rules }: Dialect, dropped: string[]
): object[] | null {
  const { history } = rules
  const roles = rowOf(rules, model).roles ?? prompt.roles
  const formed = promptFor(messages, prompt)
  const isPrefilled = formed.at(-1)?.role === 'assistant' && Object.keys(prefill).length > 0
  const isRuled = ({ role }: ChatMessage): boolean => {
    return role === 'assistant' || history?.members?.[role] !== undefined
  }
  const isPast = history !== null && formed.some(isRuled)
  const past = isPast ? historyFor(formed, history, model, dropped) : formed
  const isSame = formed === messages && past.every((message, index) => message === messages[index])
  if (isSame && !isPrefilled && !messages.some(({ role }) => roles[role] !== undefined)) return null
  return past.map((message, index) => {
    const role = formed[index]?.role ?? ''
    const isLast = index === formed.length - 1
    return { ...message, role: roles[role] ?? role, ...(isPrefilled && isLast ? prefill : {}) }
  })
}

const bothLimits = ['max_tokens', 'max_completion_tokens'] as const
const legacyLimits = ['max_tokens'] as const

/**
 * Sends one output limit, the least of all that were set, under the upstream's own names; nothing else that
 * bounds the length may exceed it. Returns the names of minimums that were dropped because they do.
 */
function limitOutput (
  call: ProviderCall<ChatCall['body'] | CompletionCall['body']>, dialect: Dialect, edits: Map<string, unknown>
): string[] {
  const fields: Record<string, unknown> = call.body
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
  for (const field of extraFields(call.body)) {
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
