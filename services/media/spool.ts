import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dimensionsOf } from './dimensions.ts'
import { MediaRefused, MediaUnavailable } from './errors.ts'
import type { PutOptions } from './media.ts'
import { detectType, signatureBytes } from './types.ts'
import type { MediaType } from './types.ts'

/** A whole body in a temporary file, safe on the disk, and what it turned out to be. */
export interface Spooled {
  path: string
  type: MediaType
  bytes: number
  /** In hexadecimal. */
  sha256: string
  width: number | null
  height: number | null
}

type Body = AsyncIterable<Uint8Array> | Uint8Array

/** Enough for the metadata that may precede the dimensions of a JPEG image. */
const headBytes = 512 * 1024

/**
 * Writes a body to a new file at `path`. Whatever fails, no file is left. Throws MediaRefused,
 * MediaUnavailable when the disk cannot be written, and whatever the body throws.
 */
export async function spool (
  path: string, body: Body, { kind, maxBytes }: Pick<PutOptions, 'kind'> & { maxBytes: number }
): Promise<Spooled> {
  const file = await onDisk(open(path, 'wx', 0o600))
  try {
    const { head, type, ...rest } = await write(file, body, kind, maxBytes)
    const size = kind === 'image' ? dimensionsOf(head) : { width: null, height: null }
    await onDisk(file.sync())
    return { path, type, ...size, ...rest }
  } catch (error) {
    await rm(path, { force: true }).catch(() => {})
    throw error
  } finally {
    await file.close()
  }
}

/** Returns what `work` does; a failure of it is one of the store. */
export async function onDisk<Result> (work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    throw new MediaUnavailable(error)
  }
}

interface Written { head: Buffer, type: MediaType, bytes: number, sha256: string }

async function write (file: FileHandle, body: Body, kind: PutOptions['kind'], maxBytes: number): Promise<Written> {
  const hash = createHash('sha256')
  const head: Uint8Array[] = []
  let bytes = 0
  let type: MediaType | null = null
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    if (bytes < headBytes) head.push(chunk.subarray(0, headBytes - bytes))
    bytes += chunk.length
    if (bytes > maxBytes) throw new MediaRefused('too_large', `The ${kind} is larger than ${maxBytes} bytes.`)
    // Refused as soon as it can be known, not after hundreds of megabytes.
    if (bytes >= signatureBytes) type ??= typeOf(head, kind)
    hash.update(chunk)
    await onDisk(file.appendFile(chunk))
  }
  if (bytes === 0) throw new MediaRefused('empty', `The ${kind} is empty.`)
  return { head: Buffer.concat(head), type: type ?? typeOf(head, kind), bytes, sha256: hash.digest('hex') }
}

function typeOf (head: Uint8Array[], kind: PutOptions['kind']): MediaType {
  const type = detectType(Buffer.concat(head))
  if (type?.kind !== kind) throw new MediaRefused('wrong_type', `What came is no ${kind} of a supported type.`)
  return type
}
