import type { UserPart } from '../../../schemas/openai/chat-messages.ts'
import { UpstreamError } from '../../shared/errors.ts'
import type { Download } from '../../media/media.ts'
import { unsupportedField, type InlineData, type Part } from './wire.ts'
import { ownMember } from '../../shared/json.ts'
import { isGoogleFile } from '../../shared/request-fields.ts'

/** Converts a part of a message; `param` names the part in errors. */
export type ReadPart = (part: UserPart, param: string) => Promise<Part>

export interface MediaOptions {
  /** Fetches files that clients name by URL; null: clients must send the bytes. */
  download: Download | null
  signal: AbortSignal
}

/** Most bytes fetched for one request: Gemini's limit for inline data. */
const maxFetchedBytes = 20 * 1024 * 1024
const maxFetches = 64

/** Creates the part reader of one request. Files named by URL are fetched, up to a limit for all of them. */
export function createPartReader ({ download, signal }: MediaOptions): ReadPart {
  let bytesLeft = maxFetchedBytes
  let fetchesLeft = maxFetches

  /** What is called an image was held as one, so nothing else may be fetched for it. */
  async function fetched (url: string, param: string, isImage: boolean): Promise<InlineData> {
    if (download === null) throw unsupportedField('Files cannot be fetched by URL; send them as data: URLs.', param)
    if (fetchesLeft-- <= 0) throw unsupportedField(`At most ${maxFetches} files can be fetched for one request.`, param)
    const pieces: Uint8Array[] = []
    try {
      for await (const piece of await download(url, { signal, maxBytes: maxFetchedBytes })) {
        bytesLeft -= piece.length
        if (bytesLeft < 0) throw tooLarge(param)
        pieces.push(piece)
      }
    } catch (cause) {
      if (bytesLeft < 0) throw tooLarge(param)
      if (cause instanceof UpstreamError && cause.kind === 'aborted') throw cause
      throw unsupportedField(`The file at ${shown(url)} could not be fetched.`, param, 'invalid_image_url')
    }
    const bytes = Buffer.concat(pieces)
    const mimeType = typeOf(bytes)
    if (mimeType === null) throw unsupportedField(`The file at ${shown(url)} has an unknown type.`, param, 'invalid_image_url')
    if (isImage && !mimeType.startsWith('image/')) {
      const advice = 'send its bytes as a \'file\', or a film as \'video_url\''
      throw unsupportedField(`The file at ${shown(url)} is no image; ${advice}.`, param, 'invalid_image_url')
    }
    return { mimeType, data: bytes.toString('base64') }
  }

  async function fromUrl (url: string, param: string, isImage: boolean): Promise<Part> {
    if (url.startsWith('data:')) return { inlineData: fromDataUrl(url, param) }
    if (isGoogleFile(url)) return { fileData: { fileUri: url } }
    // The downloader decides which of these may be fetched.
    if (/^https?:/i.test(url)) return { inlineData: await fetched(url, param, isImage) }
    throw unsupportedField('A file must be a data: URL or an https URL.', param, 'invalid_image_url')
  }

  return async (part, param) => {
    switch (part.type) {
      case 'text': return { text: part.text }
      case 'image_url': return await fromUrl(part.image_url.url, `${param}.image_url.url`, true)
      case 'video_url': return await fromUrl(part.video_url.url, `${param}.video_url.url`, false)
      case 'input_audio': {
        const { data, format } = part.input_audio
        return { inlineData: { mimeType: `audio/${format}`, data } }
      }
      case 'file': return fromFile(part.file, `${param}.file`)
    }
  }
}

const tooLarge = (param: string) =>
  unsupportedField(`The files named by URL are together larger than ${maxFetchedBytes} bytes.`, param, 'request_too_large')

const shown = (url: string): string => url.length > 200 ? `${url.slice(0, 200)}…` : url

/** `data:[<type>][;base64],<data>`. Source: RFC 2397. */
function fromDataUrl (url: string, param: string): InlineData {
  const comma = url.indexOf(',')
  if (comma === -1) throw unsupportedField('The data: URL has no data.', param, 'invalid_image_url')
  const [mimeType = '', ...words] = url.slice('data:'.length, comma).split(';')
  const data = url.slice(comma + 1)
  const type = mimeType === '' ? 'text/plain' : mimeType.toLowerCase()
  if (words.at(-1)?.toLowerCase() === 'base64') return { mimeType: type, data }
  try {
    return { mimeType: type, data: Buffer.from(decodeURIComponent(data)).toString('base64') }
  } catch {
    throw unsupportedField('The data: URL is not valid percent-encoding.', param, 'invalid_image_url')
  }
}

const types: Readonly<Record<string, string>> = {
  pdf: 'application/pdf',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  xml: 'text/xml',
  json: 'application/json'
}

function fromFile (
  { file_data: data, file_id: id, filename = '' }: { file_data?: string, file_id?: string, filename?: string },
  param: string
): Part {
  const named = ownMember(types, filename.slice(filename.lastIndexOf('.') + 1).toLowerCase())
  if (data?.startsWith('data:') === true) return { inlineData: fromDataUrl(data, `${param}.file_data`) }
  if (data !== undefined) return { inlineData: { mimeType: named ?? 'application/pdf', data } }
  if (id !== undefined && isGoogleFile(id)) {
    return { fileData: { fileUri: id, ...(named === undefined ? {} : { mimeType: named }) } }
  }
  throw unsupportedField('This provider has no uploaded files; send the file as file_data.', `${param}.file_id`)
}

/** Magic bytes, from an offset, of the types that Gemini accepts. */
const signatures: readonly [string, number, string][] = [
  ['image/png', 0, '\x89PNG\r\n'],
  ['image/jpeg', 0, '\xff\xd8\xff'],
  ['image/gif', 0, 'GIF8'],
  ['image/webp', 8, 'WEBP'],
  ['image/heic', 4, 'ftyphe'],
  ['image/heif', 4, 'ftypmif1'],
  ['image/avif', 4, 'ftypavi'],
  ['application/pdf', 0, '%PDF-'],
  ['audio/wav', 8, 'WAVE'],
  ['audio/mp3', 0, 'ID3'],
  ['video/quicktime', 4, 'ftypqt'],
  ['video/mp4', 4, 'ftyp'],
  ['video/webm', 0, '\x1a\x45\xdf\xa3']
]

/** The type of a file by its magic bytes, since servers' types are unreliable; null if unknown. */
function typeOf (bytes: Buffer): string | null {
  const head = bytes.toString('latin1', 0, 16)
  return signatures.find(([, at, start]) => head.startsWith(start, at))?.[0] ?? null
}
