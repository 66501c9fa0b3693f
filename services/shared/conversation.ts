import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'
import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'

type AnyRequest = ChatCompletionRequest | CompletionRequest
type Part = Exclude<ChatMessage['content'], string | null | undefined>[number]

/** Most UTF-16 units read of a name, and of each text or file at the beginning of a conversation. */
const maxNameChars = 200
const maxTextChars = 2000
const maxFileChars = 256
const maxTokens = 500
/** Most message parts that are read. */
const maxParts = 32

/**
 * The client's name of the conversation: `prompt_cache_key`, else `fromHeader`, else null.
 */
function conversationName (request: AnyRequest, fromHeader: string | null): string | null {
  const own: unknown = Reflect.get(request, 'prompt_cache_key')
  return typeof own === 'string' && own !== '' ? own.slice(0, maxNameChars) : fromHeader
}

/**
 * Identifies a conversation of an API key, equally on every node and in every turn: by its name, else by a
 * digest of the messages up to the first one of the user, with which all turns begin.
 */
export function conversationId (key: string, request: AnyRequest, fromHeader: string | null): string {
  const name = conversationName(request, fromHeader)
  if (name !== null) return `${key} "${name}`
  const digest = new Digest()
  if ('messages' in request) addBeginning(digest, request.messages)
  else addPrompt(digest, request.prompt)
  return `${key} ${digest.text}`
}

/**
 * The name of a conversation for a provider: 32 hexadecimal digits, which fit into a header and differ
 * between API keys; null for a conversation without a name.
 */
export function conversationHint (
  key: string, request: AnyRequest, fromHeader: string | null
): string | null {
  const name = conversationName(request, fromHeader)
  return name === null ? null : createHash('sha256').update(`${key} ${name}`).digest('hex').slice(0, 32)
}

function addBeginning (digest: Digest, messages: readonly ChatMessage[]): void {
  let parts = 0
  for (const { role, content } of messages) {
    if (role !== 'system' && role !== 'developer' && role !== 'user') continue
    // Equal for text content and a single text part: clients switch between them to mark text for caching.
    if (typeof content === 'string') digest.addText(content)
    else if (Array.isArray(content)) for (const part of content.slice(0, maxParts)) addPart(digest, part)
    parts += Array.isArray(content) ? content.length : 1
    if (role === 'user' || parts >= maxParts) return
  }
}

function addPart (digest: Digest, part: Part): void {
  if (part.type === 'text') digest.addText(part.text)
  else if (part.type === 'image_url') digest.addFile(part.image_url.url)
  else if (part.type === 'video_url') digest.addFile(part.video_url.url)
  else if (part.type === 'input_audio') digest.addFile(part.input_audio.data)
  else if (part.type === 'file') digest.addFile(part.file.file_data ?? part.file.file_id ?? '')
}

/** A longer prompt continues a shorter one, so the length is ignored. */
function addPrompt (digest: Digest, prompt: CompletionRequest['prompt']): void {
  const first = Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt[0] : prompt
  const text = Array.isArray(first) ? first.slice(0, maxTokens).join(' ') : String(first)
  digest.addRange(text, 0, maxTextChars)
}

/** A digest of 64 bits, not for secrets: a collision only costs a provider's cache. */
class Digest {
  #fnv = 0x811c9dc5
  #polynomial = 17

  addText (text: string): void {
    this.addRange(text, 0, maxTextChars)
    this.#addLength(text)
  }

  /** Files of one kind begin alike, so their end is read too. */
  addFile (data: string): void {
    this.addRange(data, 0, maxFileChars)
    this.addRange(data, Math.max(maxFileChars, data.length - maxFileChars), data.length)
    this.#addLength(data)
  }

  addRange (text: string, from: number, to: number): void {
    const end = Math.min(to, text.length)
    for (let at = from; at < end; at++) {
      const code = text.charCodeAt(at)
      this.#fnv = Math.imul(this.#fnv ^ code, 0x01000193)
      this.#polynomial = Math.imul(this.#polynomial, 31) + code | 0
    }
  }

  #addLength ({ length }: string): void {
    this.#polynomial = Math.imul(this.#polynomial, 31) + length | 0
  }

  get text (): string {
    return `${this.#fnv >>> 0} ${this.#polynomial >>> 0}`
  }
}
