import { crc32 } from 'node:zlib'
import { UpstreamError } from '../../shared/errors.ts'

/** One message of an AWS event stream. `headers` has those that are text. */
export interface Frame { headers: Readonly<Record<string, string>>, payload: Buffer }

/** Lengths of the frame and of its headers, and a checksum of both. */
const preludeBytes = 12
const checksumBytes = 4
/** AWS allows 16 MiB of payload and 128 KiB of headers. */
const maxFrameBytes = 17 * 1024 * 1024
/** Bytes of a header's value by its type: booleans, integers, a time, a UUID; 6 and 7 state their length. */
const valueBytes = [0, 0, 1, 2, 4, 8, null, null, 8, 16]
const textType = 7

/**
 * The frames of `application/vnd.amazon.eventstream`, however the network cuts them. Throws UpstreamError for
 * a wrong checksum, and for a stream that ends within a frame. Source: smithy.io, "Amazon Event Stream
 * Specification", 2.0.
 */
export async function * framesOf (chunks: AsyncIterable<Buffer>): AsyncGenerator<Frame, void, undefined> {
  let pending: Buffer[] = []
  let pendingBytes = 0
  let neededBytes = preludeBytes
  for await (const chunk of chunks) {
    pending.push(chunk)
    pendingBytes += chunk.length
    if (pendingBytes < neededBytes) continue
    const bytes = pending.length === 1 ? chunk : Buffer.concat(pending)
    let at = 0
    neededBytes = preludeBytes
    while (bytes.length - at >= neededBytes) {
      if (neededBytes === preludeBytes) neededBytes = frameBytesAt(bytes, at)
      if (bytes.length - at < neededBytes) break
      yield frameIn(bytes.subarray(at, at + neededBytes))
      at += neededBytes
      neededBytes = preludeBytes
    }
    pending = [bytes.subarray(at)]
    pendingBytes = bytes.length - at
  }
  if (pendingBytes > 0) throw broken('ended within an event')
}

function frameBytesAt (bytes: Buffer, at: number): number {
  const total = bytes.readUInt32BE(at)
  if (total < preludeBytes + checksumBytes || total > maxFrameBytes) throw broken(`has an event of ${total} bytes`)
  if (crc32(bytes.subarray(at, at + 8)) !== bytes.readUInt32BE(at + 8)) throw broken('has a wrong checksum')
  return total
}

function frameIn (frame: Buffer): Frame {
  const end = frame.length - checksumBytes
  if (crc32(frame.subarray(0, end)) !== frame.readUInt32BE(end)) throw broken('has a wrong checksum')
  const start = preludeBytes + frame.readUInt32BE(4)
  if (start > end) throw broken('has headers longer than their event')
  return { headers: headersIn(frame.subarray(preludeBytes, start)), payload: frame.subarray(start, end) }
}

function headersIn (bytes: Buffer): Record<string, string> {
  const headers: Record<string, string> = {}
  try {
    for (let at = 0; at < bytes.length;) {
      const nameEnd = at + 1 + bytes.readUInt8(at)
      const name = bytes.toString('utf8', at + 1, nameEnd)
      const type = bytes.readUInt8(nameEnd)
      const fixed = valueBytes[type]
      if (fixed === undefined) throw broken('has a header of unknown type')
      const start = nameEnd + (fixed === null ? 3 : 1)
      at = start + (fixed ?? bytes.readUInt16BE(nameEnd + 1))
      if (type === textType) headers[name] = bytes.toString('utf8', start, at)
    }
  } catch (cause) {
    throw cause instanceof UpstreamError ? cause : broken('has headers that cannot be read')
  }
  return headers
}

function broken (why: string): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', `The provider's stream ${why}.`)
}
