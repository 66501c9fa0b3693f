import type { ChatMessage } from '../../../schemas/openai/chat-messages.ts'

/** The characters of a text that are read: the beginning, and the end, where the question often is. */
const maxPromptChars = { head: 4000, tail: 2000 }
/** A last message shorter than this is read together with the one before it. */
const shortChars = 160
const maxPreviousChars = 1500

/** The text to classify: the last user message, after the previous one if the last is short. */
export function promptText (messages: readonly ChatMessage[]): string {
  let last = ''
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]
    if (message?.role !== 'user') continue
    const text = excerpt(messageText(message.content))
    if (last === '') {
      last = text
      if (last.length >= shortChars) return last
    } else {
      return `${text.slice(0, maxPreviousChars)}\n${last}`
    }
  }
  return last
}

/** The last user message, if `promptText` reads the one before it too; else empty. */
export function followUpText (messages: readonly ChatMessage[]): string {
  const [before, last] = messages.filter(({ role }) => role === 'user').slice(-2)
  if (before === undefined || last === undefined) return ''
  const text = messageText(last.content)
  return text.length < shortChars ? text : ''
}

/** The beginning and the end of a long text. */
function excerpt (text: string): string {
  if (text.length <= maxPromptChars.head + maxPromptChars.tail) return text
  return `${text.slice(0, maxPromptChars.head)}\n${text.slice(-maxPromptChars.tail)}`
}

/** The text parts of a message's content, joined by newlines. */
export function messageText (content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  let joined = ''
  for (const part of content) {
    if (part.type !== 'text') continue
    joined = joined === '' ? part.text : `${joined}\n${part.text}`
  }
  return joined
}
