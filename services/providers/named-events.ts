import { UpstreamError } from '../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../shared/json.ts'
import { maxAnswerBytes, parseBounded } from '../upstream/answer-body.ts'
import { peekFirst } from '../upstream/peek-first.ts'
import { encodeNamedEvent, EventSplitter, eventsIn, type SseEvent } from '../upstream/sse.ts'
import type { EventStream } from './provider.ts'
import type { Exchange } from '../upstream/exchange.ts'

/** Reads the events of one answer, whose names are the `type` of their data. */
export interface EventReader {
  /** Throws UpstreamError for an event that says the answer has failed. */
  take (body: JsonObject, event: SseEvent): void
  /** Whether more than the head of the answer has come: until then it can be replaced by another one. */
  readonly hasBegun: boolean
  /** Whether the last event has come. */
  readonly isDone: boolean
}

/**
 * Relays named events as bytes while they are read; resolves at the first ones, so that a failure before them
 * rejects. Throws UpstreamError for a failed, malformed or cut answer.
 */
export async function relayNamedEvents (exchange: Exchange, reader: EventReader): Promise<EventStream> {
  const pieces = await peekFirst(relayed(exchange, reader))
  return {
    [Symbol.asyncIterator]: () => pieces[Symbol.asyncIterator](),
    async pipeTo (sink) {
      for await (const piece of pieces) if (!sink.write(piece)) await sink.drained()
    }
  }
}

async function * relayed (
  exchange: Exchange, reader: EventReader
): AsyncGenerator<Uint8Array, void, undefined> {
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  for await (const piece of piecesOf(exchange)) {
    const { bytes, failure } = readPiece(piece, reader)
    waiting.push(bytes)
    if (reader.hasBegun) {
      const ready = Buffer.concat(waiting)
      waiting = []
      if (ready.length > 0) yield ready
    }
    if (failure !== null) throw failure
    waitingBytes += reader.hasBegun ? 0 : bytes.length
    if (waitingBytes > maxAnswerBytes) {
      throw new UpstreamError('bad_reply', 'yes', `The provider sent more than ${maxAnswerBytes} bytes before its answer began.`)
    }
    if (reader.isDone) return exchange.finish()
  }
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s stream ended before it was complete.')
}

/** The stream in pieces of whole events. */
export async function * piecesOf (exchange: Exchange): AsyncGenerator<Buffer, void, undefined> {
  const splitter = new EventSplitter()
  for await (const chunk of exchange) {
    const piece = splitter.push(chunk)
    if (piece !== null) yield piece
  }
  // The last event may lack its empty line.
  const rest = splitter.rest()
  if (rest.length > 0) yield Buffer.concat([rest, Buffer.from('\n\n')])
}

/** What a piece has up to the end of the answer, and why nothing after that can be read. */
interface ReadPiece { bytes: Uint8Array, failure: unknown }

/**
 * Reads the events of a piece. Clients know an event by its name alone, so one that lacks it, or has another,
 * gets the name of its type; what follows an error or the end of the answer is left out.
 */
function readPiece (piece: Buffer, reader: EventReader): ReadPiece {
  const bodies: JsonObject[] = []
  let isSame = true
  let failure: unknown = null
  for (const event of eventsIn(piece)) {
    if (reader.isDone) isSame = false
    if (reader.isDone) break
    try {
      const body = parseEvent(event)
      reader.take(body, event)
      isSame &&= event.event === body.type
      bodies.push(body)
    } catch (error) {
      isSame = false
      failure = error
      break
    }
  }
  const named = (body: JsonObject): Buffer => encodeNamedEvent(isText(body.type) ? body.type : 'message', body)
  return { bytes: isSame ? piece : Buffer.concat(bodies.map(named)), failure }
}

/** The body of an event. Throws UpstreamError. */
export function parseEvent ({ data }: SseEvent): JsonObject {
  try {
    const value = parseBounded(data)
    if (isObject(value)) return value
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause
    throw new UpstreamError('bad_reply', 'yes', 'The provider sent an event that is not valid JSON.', { cause })
  }
  throw new UpstreamError('bad_reply', 'yes', 'The provider sent an event that is not a JSON object.')
}
