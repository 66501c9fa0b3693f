import { createHash } from 'node:crypto'
import { open, rm, type FileHandle } from 'node:fs/promises'
import { readDimensions } from './dimensions.ts'
import { MediaRejected, asMediaUnavailable, openWithin, silenceMs } from './errors.ts'
import type { PutMediaOptions } from './media.ts'
import { detectMediaType, typeDetectionBytes, type MediaFileType } from './file-types.ts'

/** A complete body in a temporary file, synced to disk, and its metadata. */
export interface TempFile {
  path: string
  type: MediaFileType
  bytes: number
  sha256: string
  width: number | null
  height: number | null
}

type Body = AsyncIterable<Uint8Array> | Uint8Array

/** Covers the metadata that may precede the dimensions in a JPEG file. */
const headBytes = 512 * 1024

interface WriteOptions extends Pick<PutMediaOptions, 'kind' | 'signal'> {
  maxBytes: number
  /** How long one operation of the disk may take. */
  limitMs?: number
}

/** Writes a body to a file. Throws MediaRejected, MediaUnavailable, or the body's error. */
export async function writeTempFile (
  path: string, body: Body, { kind, maxBytes, limitMs = silenceMs, signal }: WriteOptions
): Promise<TempFile> {
  const bounds = { limitMs, signal }
  const file = await openWithin(open(path, 'wx', 0o600), bounds, async () => await rm(path, { force: true }))
  try {
    const { head, type, ...rest } = await write(file, body, { kind, maxBytes, ...bounds })
    const size = kind === 'image' ? readDimensions(head) : { width: null, height: null }
    await asMediaUnavailable(file.sync(), bounds)
    await asMediaUnavailable(file.close(), bounds)
    return { path, type, ...size, ...rest }
  } catch (error) {
    const removed = file.close().catch(() => {}).then(() => rm(path, { force: true }))
    await asMediaUnavailable(removed, bounds).catch(() => {})
    throw error
  }
}

async function write (file: FileHandle, body: Body, { kind, maxBytes, ...bounds }: WriteOptions) {
  const hash = createHash('sha256')
  const head: Uint8Array[] = []
  let bytes = 0
  let type: MediaFileType | null = null
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    if (bytes < headBytes) head.push(chunk.subarray(0, headBytes - bytes))
    bytes += chunk.length
    if (bytes > maxBytes) throw new MediaRejected('too_large', `The ${kind} is larger than ${maxBytes} bytes.`)
    // Reject early, not after hundreds of megabytes.
    if (bytes >= typeDetectionBytes) type ??= requireType(head, kind)
    hash.update(chunk)
    await asMediaUnavailable(file.appendFile(chunk), bounds)
  }
  if (bytes === 0) throw new MediaRejected('empty', `The ${kind} is empty.`)
  return { head: Buffer.concat(head), type: type ?? requireType(head, kind), bytes, sha256: hash.digest('hex') }
}

function requireType (head: Uint8Array[], kind: PutMediaOptions['kind']): MediaFileType {
  const type = detectMediaType(Buffer.concat(head))
  if (type?.kind !== kind) throw new MediaRejected('wrong_type', `The file is not a ${kind} of a supported type.`)
  return type
}
