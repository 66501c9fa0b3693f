import type { AssistantMessage, ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import { isObject, isText } from '../../shared/json.ts'
import type { HistoryRules } from './request-rules.ts'

/**
 * The messages as an upstream accepts them back: past thoughts under its name, or none, and no members that
 * it refuses. A message in which nothing changes is the same object. Adds to `dropped` what clients had set.
 */
export function historyFor (
  messages: readonly ChatMessage[], rules: HistoryRules, model: string, dropped: string[]
): readonly object[] {
  const { required } = rules
  const isRequired = required?.models.test(model) === true && messages.some(hasCalls)
  return messages.map(message => {
    const needs = isRequired && (required.everyTurn || hasCalls(message))
    return messageFor(message, rules, needs ? required.standIn : null, dropped)
  })
}

/** All names by which an answer's thoughts come back. */
const thoughtMembers = ['reasoning_content', 'reasoning', 'reasoning_details']

function messageFor (
  message: ChatMessage, rules: HistoryRules, standIn: string | null, dropped: string[]
): object {
  const allowed = rules.members?.[message.role]
  const isAssistant = message.role === 'assistant'
  const thoughts = isAssistant && rules.thoughts !== null ? thoughtsIn(message) ?? standIn : null
  const kept = Object.entries(message).filter(([name]) => {
    if (isAssistant && thoughtMembers.includes(name)) return name === rules.thoughts
    return name === 'role' || name === 'content' || allowed === undefined || allowed.includes(name)
  })
  const past = {
    ...(thoughts === null || rules.thoughts === null ? {} : { [rules.thoughts]: thoughts }),
    ...(isAssistant ? callsFor(message, rules) : {})
  }
  const isSame = Object.entries(past).every(([name, value]) => Reflect.get(message, name) === value)
  if (isSame && kept.length === Object.keys(message).length) return message
  if ('name' in message && allowed?.includes('name') === false) dropped.push('messages[].name')
  // Where its own member is refused, a refusal is the content.
  const isRefusal = isAssistant && allowed !== undefined &&
    isText(message.refusal) && !isText(message.content)
  return { ...Object.fromEntries(kept), ...(isRefusal ? { content: message.refusal } : {}), ...past }
}

/** The tool calls, if they have members that are refused. */
function callsFor ({ tool_calls: calls = [] }: AssistantMessage, { calls: allowed }: HistoryRules): object {
  const isKept = ([name]: [string, unknown]): boolean => allowed?.includes(name) !== false
  if (calls.every(call => Object.entries(call).every(isKept))) return {}
  return { tool_calls: calls.map(call => Object.fromEntries(Object.entries(call).filter(isKept))) }
}

function hasCalls (message: ChatMessage): boolean {
  return message.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0
}

/** The thoughts that a client sent back, in any of their forms; null: none. */
function thoughtsIn (message: object): string | null {
  const members: Record<string, unknown> = { ...message }
  const { reasoning_content: content, reasoning, reasoning_details: details } = members
  if (isText(content)) return content
  if (isText(reasoning)) return reasoning
  const texts = Array.isArray(details) ? details.filter(isObject).map(({ text }) => isText(text) ? text : '') : []
  return texts.join('') || null
}
