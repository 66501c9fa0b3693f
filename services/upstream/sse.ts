import { UpstreamError } from '../shared/errors.ts'

export const maxEventBytes = 16 * 1024 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d
const byteOrderMark = Buffer.from('\ufeff')

/** One server-sent event: its name (default: `message`) and its data lines, joined. */
export interface SseEvent { event: string, data: string }

/**
 * Cuts a byte stream into pieces of whole events, however the network split it. `push` returns the events
 * that a chunk completes, with `\n` line ends, or null when there are none yet. Bytes are never decoded, so
 * characters cut in two are whole again.
 */
export class EventSplitter {
  #pending: Buffer[] = []
  #pendingBytes = 0
  #afterReturn = false
  #isFirst = true

  /** Whether nothing of an event is pending. */
  get isEmpty (): boolean {
    return this.#pendingBytes === 0 && !this.#afterReturn
  }

  push (chunk: Buffer): Buffer | null {
    const piece = this.#complete(chunk)
    if (piece === null || !this.#isFirst) return piece
    this.#isFirst = false
    return withoutByteOrderMark(piece)
  }

  #complete (chunk: Buffer): Buffer | null {
    if (chunk.length === 0) return null
    const bytes = chunk.includes(carriageReturn) || this.#afterReturn ? this.#withLineFeeds(chunk) : chunk
    const end = this.#lastBoundary(bytes)
    if (end === 0) {
      this.#addPending(bytes)
      return null
    }
    if (end === bytes.length && this.#pendingBytes === 0) return bytes
    const complete = this.#takePending(bytes.subarray(0, end))
    if (end < bytes.length) this.#addPending(bytes.subarray(end))
    return complete
  }

  /** The bytes after the last whole event: cut off, or an event that lacks its empty line. */
  rest (): Buffer {
    const rest = this.#takePending(Buffer.alloc(0))
    return this.#isFirst ? withoutByteOrderMark(rest) : rest
  }

  /** The place after the last empty line, 0 when there is none. The line may begin in the pending bytes. */
  #lastBoundary (bytes: Buffer): number {
    // By index, because V8 does not inline `at` of a buffer.
    const { length } = bytes
    if (bytes[length - 1] === lineFeed && bytes[length - 2] === lineFeed) return length
    const at = bytes.lastIndexOf('\n\n')
    if (at !== -1) return at + 2
    return bytes[0] === lineFeed && this.#pending.at(-1)?.at(-1) === lineFeed ? 1 : 0
  }

  #addPending (bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#pending.push(bytes)
    this.#pendingBytes += bytes.length
    if (this.#pendingBytes > maxEventBytes) {
      throw new UpstreamError('bad_reply', 'yes', `The provider sent an event longer than ${maxEventBytes} bytes.`)
    }
  }

  #takePending (last: Buffer): Buffer {
    const all = Buffer.concat([...this.#pending, last])
    this.#pending = []
    this.#pendingBytes = 0
    return all
  }

  /** `\r\n` and a lone `\r` end a line too; the network may cut a `\r\n` in two. */
  #withLineFeeds (chunk: Buffer): Buffer {
    const start = this.#afterReturn && chunk[0] === lineFeed ? 1 : 0
    this.#afterReturn = chunk.at(-1) === carriageReturn
    const text = chunk.toString('latin1', start)
    return Buffer.from(text.replace(/\r\n?/g, '\n'), 'latin1')
  }
}

/** Text without the mark that some servers put before it. */
export function withoutByteOrderMark (bytes: Buffer): Buffer {
  const starts = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
  return starts ? bytes.subarray(byteOrderMark.length) : bytes
}

/** No server writes more lines of one event; others are not read. */
const maxLines = 10_000

/** The events in a piece of whole events. Comments and events without data are left out. */
export function * eventsIn (piece: Buffer): Generator<SseEvent> {
  for (const block of piece.toString().split('\n\n')) {
    let event = 'message'
    let data: string | null = null
    for (const line of block.split('\n', maxLines)) {
      if (line.startsWith('data:')) data = (data === null ? '' : data + '\n') + fieldValue(line, 5)
      else if (line.startsWith('event:')) event = fieldValue(line, 6)
    }
    if (data !== null) yield { event, data }
  }
}

function fieldValue (line: string, from: number): string {
  return line.slice(line.charCodeAt(from) === 0x20 ? from + 1 : from)
}

/** An event as bytes. */
export function encodeEvent (data: unknown): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`)
}

/** An event with a name as bytes. */
export function encodeNamedEvent (event: string, data: unknown): Buffer {
  return Buffer.from(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
}

/** The last event of every complete OpenAI stream. */
export const doneEvent = Buffer.from('data: [DONE]\n\n')
