import { UpstreamError } from '../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../shared/json.ts'
import { maxResponseBytes, parseBounded } from './upstream/read-response.ts'
import { peekFirst } from './upstream/peek-first.ts'
import { encodeNamedEvent, EventParser, type EventBatch, type SseEvent } from './upstream/sse.ts'
import type { EventStream } from './provider.ts'
import type { UpstreamResponse } from './upstream/response.ts'

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
export async function relayNamedEvents (
  response: UpstreamResponse, reader: EventReader
): Promise<EventStream> {
  const pieces = await peekFirst(relayed(response, reader))
  return {
    [Symbol.asyncIterator]: () => pieces[Symbol.asyncIterator](),
    async pipeTo (sink) {
      for await (const piece of pieces) if (!sink.write(piece)) await sink.drained()
    }
  }
}

async function * relayed (
  response: UpstreamResponse, reader: EventReader
): AsyncGenerator<Uint8Array, void, undefined> {
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  for await (const batch of batchesOf(response)) {
    const { bytes, failure } = readBatch(batch, reader)
    waiting.push(bytes)
    if (reader.hasBegun) {
      const ready = Buffer.concat(waiting)
      waiting = []
      if (ready.length > 0) yield ready
    }
    if (failure !== null) throw failure
    waitingBytes += reader.hasBegun ? 0 : bytes.length
    if (waitingBytes > maxResponseBytes) {
      throw new UpstreamError('bad_reply', 'yes', `The provider sent more than ${maxResponseBytes} bytes before its answer began.`)
    }
    if (reader.isDone) return response.finish()
  }
  throw cutShort()
}

/** The events of a stream as they come. Throws UpstreamError. */
export async function * batchesOf (response: UpstreamResponse): AsyncGenerator<EventBatch, void, undefined> {
  const parser = new EventParser()
  for await (const chunk of response) yield parser.push(chunk)
  yield parser.end()
}

/** Translates the events of one answer. */
export interface EventTranslator<Chunk> {
  /** The chunks of an event; null for one without meaning. Throws UpstreamError for a failure. */
  take (body: JsonObject, event: SseEvent): Chunk[] | null
  /** Whether the last event has come. */
  readonly isDone: boolean
}

/** Most bytes of pings between two events: an hour of them passes, a flood does not. */
const maxPingBytes = 256 * 1024

/** The chunks of a response. Throws UpstreamError if it fails, is malformed or cut, or is only pings. */
export async function * translateNamedEvents<Chunk> (
  response: UpstreamResponse, translator: EventTranslator<Chunk>
): AsyncGenerator<Chunk, void, undefined> {
  let pingBytes = 0
  for await (const { events, piece } of batchesOf(response)) {
    let isPing = true
    for (const event of events) {
      const chunks = translator.take(parseEvent(event), event)
      if (chunks === null) continue
      isPing = false
      yield * chunks
      if (translator.isDone) return response.finish()
    }
    pingBytes = isPing ? pingBytes + piece.length : 0
    if (pingBytes > maxPingBytes) throw new UpstreamError('bad_reply', 'yes', 'The provider sent nothing but pings.')
  }
  throw cutShort()
}

/** The error of a stream that ends before its last event. */
export function cutShort (): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', 'The provider\'s stream ended before it was complete.')
}

/** What some events have up to the end of the answer, and why nothing after that can be read. */
interface ReadBatch { bytes: Uint8Array, failure: unknown }

const keepAlive = Buffer.from(': keep-alive\n\n')

/**
 * Reads some events. Clients know an event by its name alone, so one that lacks it, or has another, gets the
 * name of its type; what follows an error or the end of the answer is left out.
 */
function readBatch ({ events, piece }: EventBatch, reader: EventReader): ReadBatch {
  if (events.length === 0) return { bytes: piece.length > 0 ? keepAlive : piece, failure: null }
  const read: Buffer[] = []
  let failure: unknown = null
  for (const event of events) {
    if (reader.isDone) break
    try {
      const body = parseEvent(event)
      reader.take(body, event)
      const type = isText(body.type) ? body.type : 'message'
      read.push(event.event === type ? event.bytes : encodeNamedEvent(type, body))
    } catch (error) {
      failure = error
      break
    }
  }
  return { bytes: Buffer.concat(read), failure }
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
