import { LRUCache } from 'lru-cache'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import { fnvOffset, fnvPrime } from './text/vocabulary.ts'
import { textOf } from './text/focus.ts'

/** Which model a conversation has been with, and how well it was expected to do. */
export interface Stay { model: string, quality: number }

/** The conversations of this node that went on lately. A forgotten one only costs a provider's cache. */
export interface Stickiness {
  find (conversation: string): Stay | undefined
  keep (conversation: string, stay: Stay): void
  /** The next message may go elsewhere. */
  forget (conversation: string): void
}

const limits = { conversations: 20_000, idleMs: 3_600_000, hashedChars: 2000 }

export function createStickiness (
  { clock = () => performance.now() }: { clock?: () => number } = {}
): Stickiness {
  const stays = new LRUCache<string, Stay>({
    max: limits.conversations,
    ttl: limits.idleMs,
    ttlResolution: 0,
    updateAgeOnGet: true,
    perf: { now: clock }
  })
  return {
    find: conversation => stays.get(conversation),
    keep (conversation, stay) { stays.set(conversation, stay) },
    forget (conversation) { stays.delete(conversation) }
  }
}

/**
 * What tells a conversation from the others of a key: its name where the client gives one, else how it began,
 * which every later request of it repeats.
 */
export function conversationKey (
  key: string, policy: string, name: string | null, { messages }: ChatCompletionRequest
): string {
  if (name !== null) return `${key} ${policy} ${name}`
  let one = fnvOffset
  let other = 17
  for (const { role, content } of messages) {
    if (role !== 'system' && role !== 'developer' && role !== 'user') continue
    const text = textOf(content)
    const end = Math.min(text.length, limits.hashedChars)
    for (let at = 0; at < end; at++) {
      const code = text.charCodeAt(at)
      one = Math.imul(one ^ code, fnvPrime)
      other = Math.imul(other, 31) + code | 0
    }
    other = Math.imul(other, 31) + text.length | 0
    if (role === 'user') break
  }
  return `${key} ${policy} ${one >>> 0} ${other >>> 0}`
}
