import type { UpstreamResponse } from '../upstream/response.ts'
import { relayNamedEvents, type EventReader } from '../named-events.ts'
import type { EventStream } from '../provider.ts'
import type { StreamReport } from '../report.ts'
import { MessageChunks } from './chunks.ts'
import { anthropicErrorIn } from './errors.ts'
import type { Counts } from './usage.ts'

interface RelayOptions {
  /** Masked in errors. */
  secret: string | null
  /** What is counted before the first event. */
  counts: Counts
}

/** Relays a message's events as they came, and reads the usage on the way; see `relayNamedEvents`. */
export async function relayMessage (
  response: UpstreamResponse, report: StreamReport, { secret, counts }: RelayOptions
): Promise<EventStream> {
  const chunks = new MessageChunks(report, counts)
  let hasBegun = false
  const reader: EventReader = {
    take (body, { event }) {
      if (body.type === 'error' || event === 'error') throw anthropicErrorIn(body, secret)
      chunks.take(body)
      if (body.type !== 'message_start') hasBegun = true
    },
    get hasBegun () { return hasBegun },
    get isDone () { return chunks.isDone }
  }
  return await relayNamedEvents(response, reader)
}
