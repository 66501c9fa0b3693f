import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { translateNamedEvents } from '../named-events.ts'
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

/** The chunks of a message, usage last; see `translateNamedEvents`. */
export function readMessageStream (
  response: UpstreamResponse, report: StreamReport, { secret, counts }: StreamOptions
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const writer = new MessageChunks(report, counts)
  return translateNamedEvents(response, {
    take (body, { event }) {
      if (body.type === 'error' || event === 'error') throw anthropicErrorIn(body, secret)
      return body.type === 'ping' ? null : writer.take(body)
    },
    get isDone () { return writer.isDone }
  })
}
