import { UpstreamError } from '../shared/errors.ts'

/** Longest single event an upstream may send. */
export const maxEventBytes = 16 * 1024 * 1024

const lineFeed = 0x0a
const carriageReturn = 0x0d

/** One server-sent event: its `event:` name (`message` when it has none) and its data lines, joined. */
export interface SseEvent { event: string, data: string }

/**
 * Cuts a byte stream, however the network split it, into pieces that hold whole events only. `push` returns
 * the events completed by a chunk, or null when there are none yet, always with `\n` line ends. Bytes are
 * never decoded here, so a character cut in two is whole again in the piece.
 */
export class EventSplitter {
  #held: Buffer[] = []
  #heldBytes = 0
  #afterReturn = false

  push (chunk: Buffer): Buffer | null {
    if (chunk.length === 0) return null
    const bytes = chunk.includes(carriageReturn) || this.#afterReturn ? this.#withLineFeeds(chunk) : chunk
    const end = this.#lastBoundary(bytes)
    if (end === 0) {
      this.#hold(bytes)
      return null
    }
    if (end === bytes.length && this.#heldBytes === 0) return bytes
    const complete = this.#takeHeld(bytes.subarray(0, end))
    if (end < bytes.length) this.#hold(bytes.subarray(end))
    return complete
  }

  /** What followed the last whole event: text that was cut off, or an event that lacks its empty line. */
  rest (): Buffer {
    return this.#takeHeld(Buffer.alloc(0))
  }

  /** The place after the last empty line, 0 when there is none. The line may have begun in what is held. */
  #lastBoundary (bytes: Buffer): number {
    // By index: V8 looks `at` of a buffer up anew for each piece.
    const { length } = bytes
    if (bytes[length - 1] === lineFeed && bytes[length - 2] === lineFeed) return length
    const at = bytes.lastIndexOf('\n\n')
    if (at !== -1) return at + 2
    return bytes[0] === lineFeed && this.#held.at(-1)?.at(-1) === lineFeed ? 1 : 0
  }

  #hold (bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#held.push(bytes)
    this.#heldBytes += bytes.length
    if (this.#heldBytes > maxEventBytes) {
      throw new UpstreamError('bad_reply', 'yes', `The provider sent an event longer than ${maxEventBytes} bytes.`)
    }
  }

  #takeHeld (last: Buffer): Buffer {
    const all = Buffer.concat([...this.#held, last])
    this.#held = []
    this.#heldBytes = 0
    return all
  }

  /** `\r\n` and a lone `\r` end a line too; a `\r\n` may be cut in two by the network. */
  #withLineFeeds (chunk: Buffer): Buffer {
    const start = this.#afterReturn && chunk[0] === lineFeed ? 1 : 0
    this.#afterReturn = chunk.at(-1) === carriageReturn
    const text = chunk.toString('latin1', start)
    return Buffer.from(text.replace(/\r\n?/g, '\n'), 'latin1')
  }
}

/** The events in a piece of whole events. Comments and events without data are left out. */
export function * eventsIn (piece: Buffer): Generator<SseEvent> {
  for (const block of piece.toString().split('\n\n')) {
    let event = 'message'
    let data: string | null = null
    for (const line of block.split('\n')) {
      if (line.startsWith('data:')) data = (data === null ? '' : data + '\n') + fieldValue(line, 5)
      else if (line.startsWith('event:')) event = fieldValue(line, 6)
    }
    if (data !== null) yield { event, data }
  }
}

function fieldValue (line: string, from: number): string {
  return line.slice(line.charCodeAt(from) === 0x20 ? from + 1 : from)
}

/** One event as bytes on the wire. */
export function encodeEvent (data: unknown): Buffer {
  return Buffer.from(`data: ${JSON.stringify(data)}\n\n`)
}

/** The event that ends every OpenAI stream that went well. */
export const doneEvent = Buffer.from('data: [DONE]\n\n')
