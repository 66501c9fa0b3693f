/** What the header of an MP4 file says; null where it is missing or says nothing. */
export interface Mp4Facts { seconds: number | null, width: number | null, height: number | null }

type Read = (start: number, end: number) => Promise<Buffer>

const nothing: Mp4Facts = { seconds: null, width: null, height: null }
/** Above what any real file has. */
const maxBoxes = 1_000
const maxMovieBytes = 64 * 1024 * 1024

/**
 * Reads the length and size of a video from the boxes `moov`, `mvhd` and `tkhd` of its file (ISO/IEC
 * 14496-12). `read` returns the bytes from `start` to `end`, inclusive.
 */
export async function readMp4 (bytes: number, read: Read): Promise<Mp4Facts> {
  let at = 0
  for (let count = 0; count < maxBoxes && at + 8 <= bytes; count++) {
    const head = await read(at, Math.min(at + 15, bytes - 1))
    const box = boxAt(head, 0, bytes - at)
    if (box === null) return nothing
    if (box.type === 'moov') {
      if (box.size > maxMovieBytes || at + box.size > bytes) return nothing
      return readMovie((await read(at, at + box.size - 1)).subarray(box.start))
    }
    at += box.size
  }
  return nothing
}

interface Box { type: string, size: number, /** Offset of its content. */ start: number }

function boxAt (buffer: Buffer, at: number, leftBytes: number): Box | null {
  if (buffer.length < at + 8) return null
  const type = buffer.toString('latin1', at + 4, at + 8)
  const size32 = buffer.readUInt32BE(at)
  if (size32 === 0) return { type, size: leftBytes, start: 8 }
  if (size32 !== 1) return size32 < 8 ? null : { type, size: size32, start: 8 }
  if (buffer.length < at + 16) return null
  const size = Number(buffer.readBigUInt64BE(at + 8))
  return size < 16 || !Number.isSafeInteger(size) ? null : { type, size, start: 16 }
}

function readMovie (movie: Buffer): Mp4Facts {
  const header = childrenOf(movie).find(({ type }) => type === 'mvhd')?.content
  const sizes = childrenOf(movie)
    .filter(({ type }) => type === 'trak')
    .flatMap(({ content }) => childrenOf(content).filter(({ type }) => type === 'tkhd'))
    .map(({ content }) => sizeOf(content))
  // Audio tracks have no size.
  const size = sizes.find(({ width, height }) => width > 0 && height > 0)
  const seconds = header === undefined ? null : secondsOf(header)
  return { seconds, width: size?.width ?? null, height: size?.height ?? null }
}

function childrenOf (content: Buffer): { type: string, content: Buffer }[] {
  const children = []
  for (let at = 0; at + 8 <= content.length && children.length < maxBoxes;) {
    const box = boxAt(content, at, content.length - at)
    if (box === null || at + box.size > content.length) break
    children.push({ type: box.type, content: content.subarray(at + box.start, at + box.size) })
    at += box.size
  }
  return children
}

function secondsOf (header: Buffer): number | null {
  const isLong = header[0] === 1
  if (header.length < (isLong ? 32 : 20)) return null
  const scale = header.readUInt32BE(isLong ? 20 : 12)
  const duration = isLong ? Number(header.readBigUInt64BE(24)) : header.readUInt32BE(16)
  // Fragmented files say 0 or all ones.
  return scale === 0 || duration === 0 || duration >= 0xffffffff ? null : duration / scale
}

function sizeOf (header: Buffer): { width: number, height: number } {
  const at = header[0] === 1 ? 88 : 76
  if (header.length < at + 8) return { width: 0, height: 0 }
  return { width: header.readUInt32BE(at) >>> 16, height: header.readUInt32BE(at + 4) >>> 16 }
}
