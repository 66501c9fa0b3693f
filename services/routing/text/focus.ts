import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'

/** How much of a text is read: its beginning, and its end, where the question often is. */
export const readChars = { head: 4000, tail: 2000 }
/** A last message shorter than this is understood from the ones before it. */
const shortChars = 160
const maxBefore = 1500

/**
 * The text that tells what is asked: the last user message, with the one before it when that is a few
 * words.
 */
export function focusOf (messages: readonly ChatMessage[]): string {
  let focus = ''
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]
    if (message?.role !== 'user') continue
    const text = excerpt(textOf(message.content))
    if (focus === '') {
      focus = text
      if (focus.length >= shortChars) return focus
    } else {
      return `${text.slice(0, maxBefore)}\n${focus}`
    }
  }
  return focus
}

/** The beginning and the end of a long text. */
function excerpt (text: string): string {
  if (text.length <= readChars.head + readChars.tail) return text
  return `${text.slice(0, readChars.head)}\n${text.slice(-readChars.tail)}`
}

/** The text of a message's content. Of many parts only so much is joined as is read. */
export function textOf (content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  let joined = ''
  for (const part of content) {
    if (part.type !== 'text') continue
    joined = joined === '' ? part.text : `${joined}\n${part.text}`
  }
  return joined
}
