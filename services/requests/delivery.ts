import type { ServerResponse } from 'node:http'
import type { EventStream } from '../providers/provider.ts'
import type { GatewayError } from '../shared/errors.ts'

/** The way back to one client. One of its methods is called, once. */
export interface Delivery {
  /** Sends a whole answer: `text` as it is if the route passes it through, else `body` serialized. */
  json (headers: Record<string, string>, body: unknown, text: string | null): void | Promise<void>
  /**
   * Sends an event stream; resolves when its last byte was handed to the socket or the client has
   * disconnected. When `events` throws, the client gets what `encodeError` makes of it (absent: the error
   * event of OpenAI), and the stream ends.
   */
  stream (headers: Record<string, string>, events: Events, encodeError?: EncodeError): Promise<void>
  /** The way of answers that have the form of the endpoint already, where it translates others. */
  readonly native?: NativeDelivery
  /** Keeps the response open for an answer that takes minutes. */
  longPoll (): LongPollResponse
}

/** The way of answers that pass as their provider has written them. One of its methods is called, once. */
export interface NativeDelivery {
  /** Sends a whole answer, which was charged. */
  json (
    headers: Record<string, string>, body: object, text: string | null, settled: Settled
  ): void | Promise<void>
  /** Sends an event stream; `settle` charges what of it has come, for a stream that says so at its end. */
  stream (headers: Record<string, string>, events: Events, settle: Settle): Promise<void>
}

/** Sends what a provider has written as it is; `encodeError` as for `stream`. */
export function passing (
  { json, stream }: Pick<Delivery, 'json' | 'stream'>, encodeError?: EncodeError
): NativeDelivery {
  return { json, stream: (headers, events) => stream(headers, events, encodeError) }
}

/**
 * What a request was charged, in nano-USD, null if that is not known; and the counts that were charged if the
 * provider has not counted all.
 */
export interface Settled { costNano: number | null, estimate: Readonly<Record<string, number>> | null }

/** Settles a request. */
export type Settle = () => Promise<Settled>

/** The last events of a stream that has failed. */
export type EncodeError = (error: GatewayError) => Uint8Array

export type Events = EventStream | AsyncIterable<Uint8Array>

/** A response that is kept open. */
export interface LongPollResponse {
  readonly raw: ServerResponse
  /** Sends a whole answer with status 200; only before `commit`. */
  send (headers: Record<string, string>, body: object): void
  /** Sends an error with its status; only before `commit`. */
  fail (error: GatewayError): void
  /** Sends status 200 and the headers; from then on the caller writes to `raw`. */
  commit (headers: Record<string, string>): void
  /** The text of a body as `send` would send it. */
  serialize (body: object): string | Promise<string>
}
