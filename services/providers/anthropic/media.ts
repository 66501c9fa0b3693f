import type { FilePart, ImagePart } from '../../../schemas/openai/chat-messages.ts'
import { invalid, unsupportedFeature } from '../refuse.ts'
import type { DocumentBlock, ImageBlock, ImageType } from './wire.ts'
import { ownMember } from '../../shared/json.ts'

/** An image part as a block. Throws UpstreamError (400) unless it is a JPEG, PNG, GIF, WebP or https URL. */
export function imageBlock ({ image_url: { url } }: ImagePart, param: string): ImageBlock {
  const data = readDataUrl(url)
  if (data !== null) return inlineImage(data, param)
  if (!isHttps(url)) throw invalid(param, 'An image must be a data: URL in base64 or an https URL.')
  return { type: 'image', source: { type: 'url', url } }
}

/** A file part as a block. Throws UpstreamError (400) for what is no PDF, text or image. */
export function fileBlock (
  { file: { file_data: data, filename } }: FilePart, param: string
): DocumentBlock | ImageBlock {
  // File ids belong to the gateway's own account at the provider, whose files clients must not read.
  if (data === undefined) throw unsupportedFeature(param, 'files by id; send `file_data`')
  const title = filename === undefined || filename === '' ? {} : { title: filename }
  if (isHttps(data)) return { type: 'document', source: { type: 'url', url: data }, ...title }
  const read = readDataUrl(data) ?? (data.startsWith(pdfStart) ? { type: pdf, base64: data } : null)
  if (read === null) throw invalid(param, '`file_data` must be a data: URL in base64.')
  if (read.type.startsWith('image/')) return inlineImage(read, param)
  if (read.type === pdf) {
    return { type: 'document', source: { type: 'base64', media_type: pdf, data: read.base64 }, ...title }
  }
  if (!read.type.startsWith('text/')) throw unsupportedFeature(param, `files of type ${read.type}; PDF and text can be read`)
  const text = Buffer.from(read.base64, 'base64').toString()
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title }
}

interface Inline { type: string, base64: string }

const pdf = 'application/pdf'
/** `%PDF-` in base64, for clients that send the bytes without a type. */
const pdfStart = 'JVBERi0'

const imageTypes: Readonly<Record<string, ImageType>> = {
  'image/jpeg': 'image/jpeg',
  'image/jpg': 'image/jpeg',
  'image/png': 'image/png',
  'image/gif': 'image/gif',
  'image/webp': 'image/webp'
}

function inlineImage ({ type, base64 }: Inline, param: string): ImageBlock {
  const known = ownMember(imageTypes, type)
  if (known === undefined) throw unsupportedFeature(param, `images of type ${type}; JPEG, PNG, GIF and WebP can be read`)
  return { type: 'image', source: { type: 'base64', media_type: known, data: base64 } }
}

/** Only the start is matched: the rest may be megabytes. */
function readDataUrl (url: string): Inline | null {
  const match = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w-]+=[^;,]*)*;base64,/i.exec(url.slice(0, 256))
  if (match === null) return null
  return { type: (match[1] ?? '').toLowerCase(), base64: url.slice(match[0].length) }
}

function isHttps (url: string): boolean {
  return /^https:\/\//i.test(url)
}
