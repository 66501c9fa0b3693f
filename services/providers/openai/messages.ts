import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'
import type { Dialect } from './dialects.ts'

/**
 * The messages as an upstream wants them; null when they already are, so that they pass as bytes. `roles` are
 * other names for roles, `prefill` goes into an assistant message at the end.
 */
export function messagesFor (
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
