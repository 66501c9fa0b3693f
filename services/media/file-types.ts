export interface MediaFileType { kind: 'image' | 'video', mime: string, extension: string }

/** How many leading bytes `detectMediaType` needs. */
export const typeDetectionBytes = 64

/** The type of a file by its magic number; null if unsupported, as is SVG, which can contain scripts. */
export function detectMediaType (head: Buffer): MediaFileType | null {
  const text = head.toString('latin1', 0, typeDetectionBytes)
  return types.find(({ matches }) => matches(text))?.type ?? null
}

const image = (extension: string, mime = `image/${extension}`): MediaFileType => ({ kind: 'image', mime, extension })
const video = (extension: string, mime = `video/${extension}`): MediaFileType => ({ kind: 'video', mime, extension })

/** Magic numbers, in latin1. Sources: the formats' specifications; ISO brands at mp4ra.org. */
const types: readonly { type: MediaFileType, matches: (head: string) => boolean }[] = [
  { type: image('png'), matches: head => head.startsWith('\x89PNG\r\n\x1a\n') },
  { type: image('jpg', 'image/jpeg'), matches: head => head.startsWith('\xff\xd8\xff') },
  { type: image('webp'), matches: head => /^RIFF.{4}WEBP/s.test(head) },
  { type: image('gif'), matches: head => /^GIF8[79]a/.test(head) },
  { type: image('avif'), matches: head => /^avi[fs]$/.test(brandOf(head)) },
  {
    type: video('mp4'),
    matches: head => /^(isom|iso[2-9]|mp4[12]|avc1|hvc1|dash|msdh|MSNV|M4V |f4v |cmfc|3g[pe][1-9])$/.test(brandOf(head))
  },
  { type: video('mov', 'video/quicktime'), matches: head => brandOf(head) === 'qt  ' },
  { type: video('webm'), matches: head => head.startsWith('\x1a\x45\xdf\xa3') && head.includes('webm') }
]

/** The major brand of an ISO base media file; empty for other formats. */
function brandOf (head: string): string {
  return head.slice(4, 8) === 'ftyp' ? head.slice(8, 12) : ''
}
