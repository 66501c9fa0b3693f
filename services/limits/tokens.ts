import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import type { ResponseRequest } from '../../schemas/openai/responses.ts'
import { isObject, isText } from '../shared/json.ts'
import { legacyMaxTokens, typicalTokens } from '../billing/token-guess.ts'
import { outputLimitOf } from '../shared/request-fields.ts'

/** Inline data above this length is binary content, not text. */
const maxTextLength = 2000

/** Estimates the tokens of a text request with its longest answer; 0 for other requests. */
export function tokensReserved (body: unknown, bodyBytes: number): number {
  if (isResponseRequest(body)) return responseTokens(body, bodyBytes)
  if (!isTextRequest(body)) return 0
  const defaultLimit = 'messages' in body ? 0 : legacyMaxTokens
  const answers = (outputLimitOf(body) ?? defaultLimit) * (body.n ?? 1)
  const { bytes, images } = 'messages' in body ? inlineMedia(body) : { bytes: 0, images: 0 }
  return Math.ceil((bodyBytes - bytes) / typicalTokens.bytesPerToken) + images * typicalTokens.image + answers
}

function isTextRequest (body: unknown): body is ChatCompletionRequest | CompletionRequest {
  if (typeof body !== 'object' || body === null) return false
  return 'messages' in body ? Array.isArray(body.messages) : 'prompt' in body
}

function isResponseRequest (body: unknown): body is ResponseRequest {
  return isObject(body) && 'input' in body
}

function responseTokens ({ input, max_output_tokens: limit }: ResponseRequest, bodyBytes: number): number {
  let bytes = 0
  let files = 0
  for (const item of typeof input === 'string' ? [] : input) {
    const content = 'content' in item ? item.content : 'output' in item ? item.output : null
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const isFile = part.type === 'input_file'
      const data = isFile ? part.file_data : part.type === 'input_image' ? part.image_url : null
      if (data == null) continue
      files++
      if (data.length > maxTextLength) bytes += data.length
    }
  }
  const texts = Math.ceil((bodyBytes - bytes) / typicalTokens.bytesPerToken)
  return texts + files * typicalTokens.image + (limit ?? 0)
}

/** The image or file of a block of the Messages API; empty: it has none. */
function sourceIn (block: object): string {
  const source: unknown = Reflect.get(block, 'source')
  if (!isObject(source) || source.type === 'text') return ''
  const { data, url } = source
  return isText(data) ? data : isText(url) ? url : ''
}

function inlineMedia ({ messages }: ChatCompletionRequest): { bytes: number, images: number } {
  let bytes = 0
  let images = 0
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const data = part.type === 'image_url'
        ? part.image_url.url
        : part.type === 'input_audio' ? part.input_audio.data : sourceIn(part)
      if (data === '') continue
      images++
      if (data.length > maxTextLength) bytes += data.length
    }
  }
  return { bytes, images }
}
