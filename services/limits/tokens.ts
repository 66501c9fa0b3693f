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
  if (isResponseRequest(body)) {
    return promptTokens(mediaOfResponse(body), bodyBytes) + (body.max_output_tokens ?? 0)
  }
  if (!isTextRequest(body)) return 0
  const defaultLimit = 'messages' in body ? 0 : legacyMaxTokens
  const answers = (outputLimitOf(body) ?? defaultLimit) * (body.n ?? 1)
  return promptTokens('messages' in body ? mediaOfChat(body) : [], bodyBytes) + answers
}

/** `media`: the data or the address of each image and file in the body. */
function promptTokens (media: readonly string[], bodyBytes: number): number {
  const inlineBytes = media.reduce((sum, { length }) => length > maxTextLength ? sum + length : sum, 0)
  const texts = Math.ceil((bodyBytes - inlineBytes) / typicalTokens.bytesPerToken)
  return texts + media.length * typicalTokens.image
}

function isTextRequest (body: unknown): body is ChatCompletionRequest | CompletionRequest {
  if (typeof body !== 'object' || body === null) return false
  return 'messages' in body ? Array.isArray(body.messages) : 'prompt' in body
}

function isResponseRequest (body: unknown): body is ResponseRequest {
  return isObject(body) && 'input' in body
}

function mediaOfResponse ({ input }: ResponseRequest): string[] {
  if (typeof input === 'string') return []
  return input.flatMap(item => {
    const content = 'content' in item ? item.content : 'output' in item ? item.output : null
    if (!Array.isArray(content)) return []
    return content.flatMap(part => {
      return (part.type === 'input_file' ? part.file_data : part.type === 'input_image' ? part.image_url : null) ?? []
    })
  })
}

/** The image or file of a block of the Messages API; empty: it has none. */
function sourceIn (block: object): string {
  const source: unknown = Reflect.get(block, 'source')
  if (!isObject(source) || source.type === 'text') return ''
  const { data, url } = source
  return isText(data) ? data : isText(url) ? url : ''
}

function mediaOfChat ({ messages }: ChatCompletionRequest): string[] {
  const media: string[] = []
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue
    for (const part of content) {
      const data = part.type === 'image_url'
        ? part.image_url.url
        : part.type === 'input_audio' ? part.input_audio.data : sourceIn(part)
      if (data !== '') media.push(data)
    }
  }
  return media
}
