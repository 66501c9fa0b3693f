import type { ChatCompletionRequest } from '../../schemas/openai/chat-completions.ts'
import type { ChatMessage, UserPart } from '../../schemas/openai/chat-messages.ts'
import type { CompletionRequest } from '../../schemas/openai/completions.ts'
import { isGoogleFile } from '../shared/request-fields.ts'
import { isPdf, pdfPages } from './pdf-pages.ts'
import { tokenBounds, typicalTokens } from './token-guess.ts'

/** How long a prompt may be, in tokens. */
export interface PromptSize {
  /** The most that its text has, and its media have at nearly all providers. */
  bounded: number
  /** What its media may have beyond that, up to the context window, such as the pages behind a link. */
  open: number
  /** What it usually has. */
  usual: number
}

/** The most tokens that a prompt may have. The context window bounds only what a request does not show. */
export function mostTokens ({ bounded, open }: PromptSize, contextWindow: number | null): number {
  return contextWindow === null ? bounded + open : Math.max(bounded, Math.min(bounded + open, contextWindow))
}

/**
 * Bounds the prompt of a request whose body has `bodyBytes`. A byte-level tokenizer only ever joins bytes, so
 * text has at most one token per byte.
 */
export function promptSize (
  request: ChatCompletionRequest | CompletionRequest, bodyBytes: number
): PromptSize {
  if (!('messages' in request)) {
    const times = Math.max(1, request.best_of ?? 1)
    return { bounded: bodyBytes * times, open: 0, usual: usualText(bodyBytes) }
  }
  const { messages, tools, functions } = request
  const instructions = tools === undefined && functions === undefined ? 0 : tokenBounds.tools
  const around = messages.length * tokenBounds.message
  const size = { bounded: bodyBytes + around + instructions, open: 0, usual: 0 }
  let textBytes = bodyBytes
  for (const message of messages) {
    for (const { inlineLength = 0, bounded, open = 0, usual } of mediaIn(message)) {
      // Base64 in the body counts as the image or the file it carries, not as text.
      textBytes -= inlineLength
      size.bounded += bounded - inlineLength
      size.open += open
      size.usual += usual
    }
  }
  size.usual += usualText(textBytes)
  return size
}

function usualText (bytes: number): number {
  return Math.ceil(bytes / tokenBounds.usualBytesPerToken)
}

interface MediaSize extends Omit<PromptSize, 'open'> {
  open?: number
  /** The length of its base64 in the body. */
  inlineLength?: number
}

const none: readonly MediaSize[] = []
/** Audio of an earlier answer, which a request only names. */
const pastAudio: MediaSize = { bounded: tokenBounds.pastAudio, usual: typicalTokens.audio }
const image: MediaSize = {
  bounded: tokenBounds.usualImage,
  open: tokenBounds.image - tokenBounds.usualImage,
  usual: typicalTokens.image
}
/** A film, or a file that the provider fetches: it may have any length. */
const linked: MediaSize = {
  bounded: typicalTokens.file, open: tokenBounds.linkedFile, usual: typicalTokens.file
}

function mediaIn (message: ChatMessage): readonly MediaSize[] {
  const { content } = message
  const past = message.role === 'assistant' && message.audio != null ? [pastAudio] : none
  // Nearly all messages are text alone.
  if (!Array.isArray(content)) return past
  const parts = content.filter(part => part.type !== 'text' && part.type !== 'refusal')
  return [...past, ...parts.map(sizeOf)]
}

function sizeOf (part: Exclude<UserPart, { type: 'text' }>): MediaSize {
  switch (part.type) {
    case 'image_url': return imageSize(part.image_url.url)
    case 'input_audio': return audioSize(part.input_audio.data.length)
    case 'file': return fileSize(part.file.file_data)
    case 'video_url': return linked
  }
}

/** Gemini takes files of all kinds under the name of an image. */
function imageSize (url: string): MediaSize {
  if (/^data:image\//i.test(url)) return { ...image, inlineLength: url.length }
  if (/^data:/i.test(url)) return fileSize(url)
  return isGoogleFile(url) ? linked : image
}

function audioSize (length: number): MediaSize {
  const bounded = Math.ceil(length / tokenBounds.audioCharsPerToken)
  return { bounded, usual: Math.min(bounded, typicalTokens.audio), inlineLength: length }
}

/** The base64 of a file bounds its text; the pages of a PDF are read as images too. */
function fileSize (data: string | undefined): MediaSize {
  if (data === undefined || /^https?:|^gs:|^data:video\//i.test(data)) return linked
  const { length: inlineLength } = data
  const bytes = Buffer.from(data.slice(data.startsWith('data:') ? data.indexOf(',') + 1 : 0), 'base64')
  if (!isPdf(bytes)) {
    const open = isArchive(bytes) ? tokenBounds.linkedFile : 0
    const usual = Math.max(typicalTokens.file, usualText(bytes.length))
    return { bounded: inlineLength + tokenBounds.file, open, usual, inlineLength }
  }
  const { pages, isWhole } = pdfPages(bytes)
  const bounded = inlineLength + Math.max(tokenBounds.file, pages * tokenBounds.page)
  const open = isWhole ? 0 : tokenBounds.linkedFile
  return { bounded, open, usual: Math.max(1, pages) * typicalTokens.file, inlineLength }
}

/** Whether a file is compressed, as those of office programs are, so that its text may be much longer. */
function isArchive (bytes: Buffer): boolean {
  return bytes.subarray(0, 2).toString('latin1') === 'PK'
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
