import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { limitOf } from '../billing/max-cost.ts'

const bytesPerToken = 4
/** What an image of middling size costs where images are counted as tokens. */
const imageTokens = 1000
/** What binary content stands for in the length of a body. */
const inlineOver = 2000
/** How long OpenAI lets a legacy completion become that does not say. */
const legacyAnswerTokens = 16

/**
 * How many tokens a request for text is taken for until it is known: a token for four bytes of what it says,
 * and the longest answer that it allows.
 */
export function tokensReserved (body: unknown, bodyBytes: number): number {
  if (!isTextRequest(body)) return 0
  const otherwise = 'messages' in body ? 0 : legacyAnswerTokens
  const answers = (limitOf(body) ?? otherwise) * (body.n ?? 1)
  const { bytes, images } = 'messages' in body ? inlined(body) : { bytes: 0, images: 0 }
  return Math.ceil((bodyBytes - bytes) / bytesPerToken) + images * imageTokens + answers
}

function isTextRequest (body: unknown): body is ChatCompletionRequest | CompletionRequest {
  if (typeof body !== 'object' || body === null) return false
  return 'messages' in body || 'prompt' in body
}

/** The bytes of a body that are pictures and sound, not text. */
function inlined ({ messages }: ChatCompletionRequest): { bytes: number, images: number } {
  let bytes = 0
  let images = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const data = part.type === 'image_url' ? part.image_url.url : part.type === 'input_audio' ? part.input_audio.data : ''
      if (data === '') continue
      images++
      if (data.length > inlineOver) bytes += data.length
    }
  }
  return { bytes, images }
}
