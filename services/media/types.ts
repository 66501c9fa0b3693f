/** A type of file that is stored. */
export interface MediaType {
  kind: 'image' | 'video'
  mime: string
  /** File name extension, without the dot. */
  extension: string
}

/** As many first bytes as `detectType` wants to see, when there are so many. */
export const signatureBytes = 64

/**
 * The type of a file by its first bytes; null for every type that is not stored, such as SVG, which can hold
 * scripts.
 */
export function detectType (head: Buffer): MediaType | null {
  const text = head.toString('latin1', 0, signatureBytes)
  return types.find(({ matches }) => matches(text))?.type ?? null
}

const image = (extension: string, mime = `image/${extension}`): MediaType => ({ kind: 'image', mime, extension })
const video = (extension: string, mime = `video/${extension}`): MediaType => ({ kind: 'video', mime, extension })

/**
 * By the first bytes, each as one character. Sources: the specification of each format; brands of ISO files
 * as registered at mp4ra.org.
 */
const types: readonly { type: MediaType, matches: (head: string) => boolean }[] = [
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

/** The major brand of a file of the ISO base media format; empty for other files. */
function brandOf (head: string): string {
  return head.slice(4, 8) === 'ftyp' ? head.slice(8, 12) : ''
}
