import type { ChatMessage, UserPart } from '../../schemas/openai/chat-messages.ts'
import { isGoogleFile } from '../shared/request-fields.ts'

/**
 * Upper bounds of what cannot be counted before a call; holds are computed from them. A byte-level tokenizer
 * only ever joins bytes, so text has at most one token per byte.
 */
export const tokenBounds = {
  /** Around each message. */
  message: 16,
  /** The instructions on tool use that a provider adds. */
  tools: 1000,
  /** One image of any size, and one file beyond its bytes: its pages are read as images too. */
  image: 50_000,
  file: 50_000,
  /** A file given by its address, or a video, at a model whose context window is unknown. */
  linkedFile: 1_000_000,
  /** What the web searches for one answer may find, at a model whose context window is unknown. */
  searches: 200_000,
  /** Audio of an earlier answer, which the request only names: no model writes more. */
  pastAudio: 16_384,
  /** Fewest base64 characters per token of audio; the lowest bit rate of MP3 has five times as many. */
  audioCharsPerToken: 8
} as const

/** What the same things usually take: for estimates of usage, rate limits and routing. */
export const typicalTokens = {
  message: 4,
  /** A medium-sized image at providers that count images as tokens. */
  image: 1000,
  file: 2000,
  audio: 500,
  /** A video given by its address. */
  video: 5000,
  bytesPerToken: 4,
  /** English has about four characters per token, code three. */
  charsPerToken: 3.5
} as const

/**
 * What generated media take. Google, "Gemini 2.5 Flash Image": 1290 for an image. Speech has about five
 * tokens for each of its transcript in answers of gpt-4o-audio-preview, such as 148 beside 33.
 */
export const generatedTokens = { image: 1290, audioPerTranscript: 5 } as const

/** OpenAI's default `max_tokens` of a legacy completion. */
export const legacyMaxTokens = 16

const linked = /^https?:|^gs:/i

/** The most tokens that media of a message add to the bytes of the body; may be negative. */
export function mediaBound (message: ChatMessage): number {
  let tokens = message.role === 'assistant' && message.audio != null ? tokenBounds.pastAudio : 0
  const { content } = message
  if (!Array.isArray(content)) return tokens
  for (const part of content) tokens += part.type === 'text' || part.type === 'refusal' ? 0 : partBound(part)
  return tokens
}

function partBound (part: Exclude<UserPart, { type: 'text' }>): number {
  switch (part.type) {
    // Base64 in the body counts as the image or audio it carries, not as text.
    case 'image_url': return imageBound(part.image_url.url)
    case 'input_audio':
      return Math.ceil(part.input_audio.data.length * (1 / tokenBounds.audioCharsPerToken - 1))
    case 'file': return fileBound(part.file.file_data)
    case 'video_url': return tokenBounds.linkedFile
  }
}

/** Gemini takes files of all kinds under the name of an image. */
function imageBound (url: string): number {
  if (/^data:image\//i.test(url)) return tokenBounds.image - url.length
  if (/^data:/i.test(url)) return fileBound(url)
  return isGoogleFile(url) ? tokenBounds.linkedFile : tokenBounds.image
}

/** A linked file may have any length, and so may a film of few bytes; the context window bounds them. */
function fileBound (data: string | undefined): number {
  return data === undefined || linked.test(data) || /^data:video\//i.test(data)
    ? tokenBounds.linkedFile
    : tokenBounds.file
}

/** Whether a part of a message may be counted as audio. */
export function mayHaveAudio (message: ChatMessage): boolean {
  if (message.role === 'assistant' && message.audio != null) return true
  return Array.isArray(message.content) && message.content.some(part => {
    switch (part.type) {
      case 'input_audio':
      case 'video_url': return true
      case 'file': return part.file.file_data === undefined || isSound(part.file.file_data)
      case 'image_url': return isSound(part.image_url.url)
      default: return false
    }
  })
}

function isSound (url: string): boolean {
  return isGoogleFile(url) || /^data:(audio|video)\//i.test(url)
}
