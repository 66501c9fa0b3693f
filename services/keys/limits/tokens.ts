import type { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import type { CompletionRequest } from '../../../schemas/openai/completions.ts'
import type { ResponseRequest } from '../../../schemas/openai/responses.ts'
import { isObject, isText } from '../../shared/json.ts'
import { legacyMaxTokens, typicalTokens } from '../../billing/token-guess.ts'
import { outputLimitOf } from '../../shared/request-fields.ts'

/** Inline data above this length is binary content, not text. */
const maxTextLength = 2000

/** Estimates the tokens of a text request with its longest response; 0 for other requests. */
export function tokensReserved (body: unknown, bodyBytes: number): number {
  if (isResponseRequest(body)) {
    return promptTokens(mediaOfResponse(body), bodyBytes) + (body.max_output_tokens ?? 0)
  }
  if (!isTextRequest(body)) return 0
  const defaultLimit = 'messages' in body ? 0 : legacyMaxTokens
  const responses = (outputLimitOf(body) ?? defaultLimit) * (body.n ?? 1)
  return promptTokens('messages' in body ? mediaOfChat(body) : [], bodyBytes) + responses
}

/** `media`: the data or URL of each image and file in the body. */
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

function mediaOfChat ({ messages }: ChatCompletionRequest): string[] {
  return messages.flatMap(({ content }) => mediaIn(content))
}

/** By the type of a chat part: the member with its data or URL. */
const members: ReadonlyMap<string, string> = new Map(
  [['image_url', 'url'], ['video_url', 'url'], ['input_audio', 'data'], ['file', 'file_data']])

/** Counts the media in parts of chat messages and in blocks of the Messages API, which may be nested. */
function mediaIn (content: unknown): string[] {
  if (!Array.isArray(content)) return []
  return content.filter(isObject).flatMap(part => {
    const { type, source } = part
    if (type === 'tool_result') return mediaIn(part.content)
    if (isObject(source) && source.type === 'content') return mediaIn(source.content)
    const member = isText(type) ? members.get(type) : undefined
    const data = member === undefined ? sourceOf(source) : memberOf(part[String(type)], member)
    return data === '' ? [] : [data]
  })
}

/** The image or file of a block of the Messages API, else empty. */
function sourceOf (source: unknown): string {
  if (!isObject(source) || source.type === 'text') return ''
  return memberOf(source, 'data') || memberOf(source, 'url')
}

function memberOf (value: unknown, name: string): string {
  const member = isObject(value) ? value[name] : null
  return isText(member) ? member : ''
}
