import { UpstreamError } from '../../shared/errors.ts'

export const maxEventBytes = 16 * 1024 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const byteOrderMark = Buffer.from('\ufeff')

/** One server-sent event: its name (default: `message`) and its data lines, joined. */
export interface SseEvent { event: string, data: string }

/** An event as it was read. */
export interface ReadEvent extends SseEvent {
  /** Its lines as they came, with `\n` line ends. */
  bytes: Buffer
  /** Whether these are one line of data and an empty one. */
  isPlain: boolean
  /** Whether all lines of the stream so far are comments, or fields of the specification. */
  isUnderstood: boolean
}

/** The events that a chunk completes, and the bytes of all that it completes, with comments. */
export interface EventBatch { events: ReadEvent[], piece: Buffer }

/** No server writes more lines of one event; others are not read. */
const maxLines = 10_000
const noBytes = Buffer.alloc(0)
const dataField = Buffer.from('data:')

/**
 * Reads the events of a byte stream, however the network cuts it and whatever its line ends are. Comments and
 * events without data are nothing. A line `error: …`, which llama.cpp sends, is an event of that name. Throws
 * UpstreamError for an event without end. Source: WHATWG HTML, 9.2.5 and 9.2.6.
 */
export class EventParser {
  readonly #splitter = new EventSplitter()
  #isUnderstood = true

  push (chunk: Buffer): EventBatch {
    const piece = this.#splitter.push(chunk) ?? noBytes
    return { events: this.#eventsIn(piece), piece }
  }

  /** What follows the last empty line: the last event of a stream may lack its own. */
  end (): EventBatch {
    const rest = this.#splitter.rest()
    const piece = rest.length === 0 ? rest : Buffer.concat([rest, Buffer.from('\n\n')])
    return { events: this.#eventsIn(piece), piece }
  }

  #eventsIn (piece: Buffer): ReadEvent[] {
    const events: ReadEvent[] = []
    let start = 0
    for (let end = piece.indexOf('\n\n'); end !== -1; end = piece.indexOf('\n\n', start)) {
      this.#read(piece.subarray(start, end + 2), events)
      start = end + 2
    }
    return events
  }

  #read (bytes: Buffer, events: ReadEvent[]): void {
    const isPlain = isPlainData(bytes)
    const add = (event: string, data: string): void => {
      if (data.trim() === '' && event !== 'error') return
      events.push({ event, data, bytes, isPlain, isUnderstood: this.#isUnderstood })
    }
    const text = bytes.toString('utf8', 0, bytes.length - 2)
    // Nearly all events have one line.
    if (isPlain) return add('message', text.slice(text.charCodeAt(5) === space ? 6 : 5))
    let event = 'message'
    const data: string[] = []
    for (const line of text.split('\n', maxLines)) {
      const colon = line.indexOf(':')
      const name = colon === -1 ? line : line.slice(0, colon)
      const from = line.charCodeAt(colon + 1) === space ? colon + 2 : colon + 1
      const value = colon === -1 ? '' : line.slice(from)
      if (name === 'data') data.push(value)
      else if (name === 'event') event = value
      else if (name === 'error') add('error', value)
      else if (name !== '' && name !== 'id' && name !== 'retry') this.#isUnderstood = false
    }
    if (data.length > 0) add(event, data.join('\n'))
  }
}

function isPlainData (bytes: Buffer): boolean {
  return bytes.indexOf(lineFeed) === bytes.length - 2 && bytes.subarray(0, dataField.length).equals(dataField)
}

/** The events in bytes of whole events. */
export function eventsIn (bytes: Uint8Array): ReadEvent[] {
  const parser = new EventParser()
  const { events } = parser.push(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
  return [...events, ...parser.end().events]
}

/**
 * Cuts a byte stream into pieces of whole events. `push` returns those that a chunk completes, with `\n` line
 * ends, or null when there are none yet. Bytes are not decoded, so characters cut in two are whole.
 */
class EventSplitter {
  #pending: Buffer[] = []
  #pendingBytes = 0
  #afterReturn = false
  #isFirst = true

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
function withoutByteOrderMark (bytes: Buffer): Buffer {
  const starts = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)
  return starts ? bytes.subarray(byteOrderMark.length) : bytes
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
