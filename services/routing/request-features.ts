import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ChatMessage } from '../../schemas/openai/chat-messages.ts'
import { typicalTokens } from '../billing/token-guess.ts'
import { outputLimitOf } from '../shared/request-fields.ts'
import { followUpText, messageText, promptText } from './text/prompt-text.ts'

/** What a request needs of a model, and the shape of its conversation. */
export interface RequestFeatures {
  /** The text to classify; see `promptText`. */
  focus: string
  /** The last message alone, if `focus` begins with the one before it; else empty. */
  followUp: string
  /** User messages so far. */
  turns: number
  /** Characters of system and developer messages. */
  systemChars: number
  /** Estimated, erring on the high side; without the answer. */
  promptTokens: number
  /** The tokens before the last answer, which a provider may have cached. */
  earlierTokens: number
  images: number
  audios: number
  files: number
  /** Tools on offer. */
  tools: number
  /** Whether the last message is a tool's result or calls a tool. */
  inToolLoop: boolean
  hasReplies: boolean
  wantsSchema: boolean
  wantsAudio: boolean
  wantsStream: boolean
  /** The client's limit on the tokens of one answer. */
  maxTokens: number | null
  replies: number
  /** How long a model should think; null: as usual. */
  effort: Effort | null
}

export type Effort = NonNullable<ChatCompletionRequest['reasoning_effort']>

/** Beyond ASCII, a character is about one token. */
const tokensPerExtraByte = 0.45
const base64PerToken = 6

/** Extracts the features of a request in one pass, in constant memory. */
export function extractFeatures (request: ChatCompletionRequest): RequestFeatures {
  const { messages, tools = [], functions = [] } = request
  const found = {
    focus: promptText(messages),
    followUp: followUpText(messages),
    turns: 0,
    systemChars: 0,
    promptTokens: 0,
    earlierTokens: 0,
    images: 0,
    audios: 0,
    files: 0,
    tools: tools.length + functions.length,
    inToolLoop: isToolStep(messages.at(-1)),
    hasReplies: false,
    wantsSchema: request.response_format?.type === 'json_schema',
    wantsAudio: request.modalities?.includes('audio') ?? false,
    wantsStream: request.stream === true,
    maxTokens: outputLimitOf(request),
    replies: request.n ?? 1,
    effort: request.reasoning_effort ?? null
  }
  let tokens = found.tools > 0 ? textTokens(JSON.stringify([tools, functions])) : 0
  if (found.wantsSchema) tokens += textTokens(JSON.stringify(request.response_format))
  for (const message of messages) {
    if (message.role === 'assistant') {
      found.hasReplies = true
      found.earlierTokens = tokens
    }
    tokens += typicalTokens.message + messageTokens(message, found)
  }
  found.promptTokens = Math.ceil(tokens)
  found.earlierTokens = Math.ceil(found.earlierTokens)
  return found
}

function isToolStep (message: ChatMessage | undefined): boolean {
  if (message?.role === 'tool' || message?.role === 'function') return true
  return message?.role === 'assistant' && (message.tool_calls?.length ?? 0) > 0
}

function messageTokens (
  message: ChatMessage, found: Pick<RequestFeatures, 'turns' | 'systemChars' | 'images' | 'audios' | 'files'>
): number {
  const { role, content } = message
  if (role === 'user') found.turns++
  if (role === 'system' || role === 'developer') found.systemChars += messageText(content).length
  let tokens = role === 'assistant' ? replyTokens(message) : 0
  if (typeof content === 'string') return tokens + textTokens(content)
  for (const part of content ?? []) {
    if (part.type === 'text') tokens += textTokens(part.text)
    else if (part.type === 'refusal') tokens += textTokens(part.refusal)
    else if (part.type === 'image_url' || part.type === 'video_url') {
      found.images++
      tokens += part.type === 'image_url' ? typicalTokens.image : typicalTokens.video
    } else if (part.type === 'input_audio') {
      found.audios++
      tokens += typicalTokens.audio
    } else if (part.type === 'file') {
      found.files++
      tokens += Math.max(typicalTokens.file, (part.file.file_data?.length ?? 0) / base64PerToken / 4)
    }
  }
  return tokens
}

/** The tokens of calls and of a refusal beside the content. */
function replyTokens (
  { tool_calls: calls = [], function_call: legacy, refusal }: Extract<ChatMessage, { role: 'assistant' }>
): number {
  let tokens = textTokens(refusal ?? '')
  if (legacy != null) tokens += textTokens(legacy.name) + textTokens(legacy.arguments)
  for (const call of calls) {
    tokens += call.type === 'function'
      ? textTokens(call.function.name) + textTokens(call.function.arguments)
      : textTokens(call.custom.name) + textTokens(call.custom.input)
  }
  return tokens
}

function textTokens (text: string): number {
  const extraBytes = Buffer.byteLength(text) - text.length
  return text.length / typicalTokens.charsPerToken + extraBytes * tokensPerExtraByte
}
