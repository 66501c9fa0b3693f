import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { batchesOf, parseEvent } from '../named-events.ts'
import { MessageChunks } from './chunks.ts'
import { anthropicErrorIn } from './errors.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import type { StreamReport } from '../report.ts'
import type { Counts } from './usage.ts'

interface StreamOptions {
  /** Masked in errors. */
  secret: string | null
  /** What is counted before the first event. */
  counts?: Counts
}

/** Most bytes of pings between two events: an hour of them passes, a flood does not. */
const maxPingBytes = 256 * 1024

/** The chunks of a message, usage last. Throws UpstreamError for an error, or a malformed or cut stream. */
export async function * readMessageStream (
  response: UpstreamResponse, report: StreamReport, { secret, counts }: StreamOptions
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const writer = new MessageChunks(report, counts)
  let pingBytes = 0
  for await (const { events, piece } of batchesOf(response)) {
    let isPing = true
    for (const event of events) {
      const body = parseEvent(event)
      if (body.type === 'error' || event.event === 'error') throw anthropicErrorIn(body, secret)
      if (body.type === 'ping') continue
      isPing = false
      yield * writer.take(body)
      if (writer.isDone) return response.finish()
    }
    pingBytes = isPing ? pingBytes + piece.length : 0
    if (pingBytes > maxPingBytes) throw broken('The provider sent nothing but pings.')
  }
  throw broken('The provider\'s stream ended before it was complete.')
}

function broken (message: string): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', message)
}
