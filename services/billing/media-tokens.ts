import { isUtf8 } from 'node:buffer'
import { imageDimensionsFromData } from 'image-dimensions'
import type { UserPart } from '../../schemas/openai/chat-messages.ts'
import { countTokens } from './count-tokens.ts'
import { imageRuleOf, type ImageRule } from './image-tokens.ts'
import { isPdf, pdfPages } from './pdf-pages.ts'
import { typicalTokens } from './token-guess.ts'

/**
 * What media usually take. Sources, in November 2026: Anthropic, "Vision" and "PDF support": squares of 28
 * pixels, at most 1568 of them, and 1500 to 3000 for a page; OpenAI, "Images and vision" and "Audio": 85 for
 * low detail, 10 a second; Google, "Tokens": 32 for a second of audio, 258 for one of video without sound.
 */
const tokensOf = {
  pixelsPerToken: 28 * 28, image: 1568, smallImage: 85, page: 2250, audioSecond: 20, videoSecond: 290
} as const
/** A page of a PDF whose pages cannot be counted, and a second of MP3 and of video. */
const bytesOf = { page: 50_000, audioSecond: 16_000, videoSecond: 125_000 } as const
/** From telephone quality to six channels of a studio. */
const wavBytesPerSecond = { least: 8_000, most: 1_200_000 } as const
/** The sides of an image whose size is not known, in pixels. */
const typicalSide = 1024
/** The size of an image stands within this much of base64. */
const headLength = 256 * 1024

/** Estimates the tokens of an image, file, recording or video in a prompt. A link does not tell its size. */
export async function mediaTokens (part: Exclude<UserPart, { type: 'text' }>, model: string): Promise<number> {
  switch (part.type) {
    case 'image_url': return imageTokens(part.image_url, imageRuleOf(model))
    case 'input_audio': return audioTokens(bytesIn(part.input_audio.data), part.input_audio.format)
    case 'file': return await fileTokens(part.file.file_data)
    case 'video_url': return isLink(part.video_url.url)
      ? typicalTokens.video
      : Math.ceil(part.video_url.url.length * 0.75 / bytesOf.videoSecond * tokensOf.videoSecond)
  }
}

function imageTokens ({ url, detail }: { url: string, detail?: string }, rule: ImageRule | null): number {
  if (detail === 'low') return rule?.low ?? tokensOf.smallImage
  const unknown = rule?.tokens(typicalSide, typicalSide) ?? typicalTokens.image
  if (isLink(url)) return unknown
  const { width = 0, height = 0 } = imageDimensionsFromData(bytesIn(url, headLength)) ?? {}
  if (width === 0 || height === 0) return unknown
  if (rule !== null) return rule.tokens(width, height)
  const tokens = Math.ceil(width * height / tokensOf.pixelsPerToken)
  return Math.min(tokensOf.image, Math.max(tokensOf.smallImage, tokens))
}

function audioTokens (bytes: Buffer, format: string): number {
  const isWav = format === 'wav' && bytes.length > 44
  const { least, most } = wavBytesPerSecond
  // The header of a WAV file has its bytes per second.
  const perSecond = isWav ? Math.min(most, Math.max(least, bytes.readUInt32LE(28))) : bytesOf.audioSecond
  return Math.ceil(bytes.length / perSecond * tokensOf.audioSecond)
}

async function fileTokens (data: string | undefined): Promise<number> {
  if (data === undefined || isLink(data)) return typicalTokens.file
  const bytes = bytesIn(data)
  if (isPdf(bytes)) return pagesIn(bytes) * tokensOf.page
  if (isUtf8(bytes)) return await countTokens(bytes.toString())
  return Math.ceil(bytes.length / typicalTokens.bytesPerToken)
}

/** Where the pages of a PDF cannot be counted, only its size is left to go by. */
function pagesIn (pdf: Buffer): number {
  const { pages } = pdfPages(pdf)
  return pages > 0 ? pages : Math.ceil(pdf.length / bytesOf.page)
}

const isLink = (data: string): boolean => /^(https?|gs):/i.test(data)

/** The bytes of base64, with or without `data:` before it; of at most `length` characters. */
function bytesIn (data: string, length = data.length): Buffer {
  const start = data.startsWith('data:') ? data.indexOf(',') + 1 : 0
  return Buffer.from(data.slice(start, start + length), 'base64')
}
