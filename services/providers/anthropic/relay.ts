import { UpstreamError } from '../../shared/errors.ts'
import type { JsonObject } from '../../shared/json.ts'
import { encodeNamedEvent, eventsIn } from '../../upstream/sse.ts'
import { peekFirst } from '../../upstream/peek-first.ts'
import type { Exchange } from '../../upstream/exchange.ts'
import type { EventStream } from '../provider.ts'
import type { StreamReport } from '../report.ts'
import { MessageChunks } from './chunks.ts'
import { anthropicErrorIn } from './errors.ts'
import { parseMessageEvent, piecesOf } from './stream.ts'
import type { Counts } from './usage.ts'

interface RelayOptions {
  /** Masked in errors. */
  secret: string | null
  /** What is counted before the first event. */
  counts: Counts
}

/**
 * Relays a message's events as bytes, and reads the usage on the way; resolves at the first ones, so that a
 * failure before them rejects. Throws UpstreamError for an error, or a malformed or cut stream.
 */
export async function relayMessage (
  exchange: Exchange, report: StreamReport, options: RelayOptions
): Promise<EventStream> {
  const pieces = await peekFirst(relayed(exchange, report, options))
  return {
    [Symbol.asyncIterator]: () => pieces[Symbol.asyncIterator](),
    async pipeTo (sink) {
      for await (const piece of pieces) if (!sink.write(piece)) await sink.drained()
    }
  }
}

async function * relayed (
  exchange: Exchange, report: StreamReport, { secret, counts }: RelayOptions
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = new MessageChunks(report, counts)
  /** The beginning waits for what follows, because a message that fails at once can be replaced. */
  let waiting: Uint8Array[] = []
  let hasMore = false
  for await (const piece of piecesOf(exchange)) {
    const read = readPiece(piece, reader, secret)
    waiting.push(read.bytes)
    hasMore ||= read.hasMore
    if (hasMore) {
      const bytes = Buffer.concat(waiting)
      waiting = []
      if (bytes.length > 0) yield bytes
    }
    if (read.failure !== null) throw read.failure
    if (reader.isDone) return exchange.finish()
  }
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s stream ended before it was complete.')
}

/** What a piece has up to the end of the message, and why nothing after that can be read. */
interface ReadPiece { bytes: Uint8Array, hasMore: boolean, failure: unknown }

/**
 * Reads the events of a piece. Clients know an event by its name alone, so one that lacks it, or has another,
 * gets the name of its type; what follows an error or the end of the message is left out.
 */
function readPiece (piece: Buffer, reader: MessageChunks, secret: string | null): ReadPiece {
  const bodies: JsonObject[] = []
  let isSame = true
  let hasMore = false
  let failure: unknown = null
  for (const event of eventsIn(piece)) {
    if (reader.isDone) isSame = false
    if (reader.isDone) break
    try {
      const body = parseMessageEvent(event)
      if (body.type === 'error' || event.event === 'error') throw anthropicErrorIn(body, secret)
      reader.take(body)
      if (body.type !== 'message_start') hasMore = true
      isSame &&= event.event === body.type
      bodies.push(body)
    } catch (error) {
      isSame = false
      failure = error
      break
    }
  }
  const named = (body: JsonObject): Buffer => encodeNamedEvent(String(body.type), body)
  return { bytes: isSame ? piece : Buffer.concat(bodies.map(named)), hasMore, failure }
}
