import { UpstreamError } from '../../shared/errors.ts'
import { EventSplitter, eventsIn } from '../../upstream/sse.ts'
import { peekFirst } from '../../upstream/peek-first.ts'
import type { Exchange } from '../../upstream/exchange.ts'
import type { EventStream } from '../provider.ts'
import type { StreamReport } from '../report.ts'
import { MessageChunks } from './chunks.ts'
import { anthropicErrorIn } from './errors.ts'
import { parseMessageEvent } from './stream.ts'
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
  const splitter = new EventSplitter()
  const reader = new MessageChunks(report, counts)
  /** The beginning waits for what follows, because a message that fails at once can be replaced. */
  let waiting: Buffer[] = []
  let hasMore = false
  for await (const bytes of exchange) {
    const piece = splitter.push(bytes)
    if (piece === null) continue
    for (const event of eventsIn(piece)) {
      const body = parseMessageEvent(event)
      if (body.type === 'error' || event.event === 'error') throw anthropicErrorIn(body, secret)
      reader.take(body)
      if (body.type !== 'message_start') hasMore = true
    }
    waiting.push(piece)
    if (!hasMore) continue
    yield Buffer.concat(waiting)
    waiting = []
    if (reader.isDone) return exchange.finish()
  }
  throw new UpstreamError('bad_reply', 'yes', 'The provider\'s stream ended before it was complete.')
}
