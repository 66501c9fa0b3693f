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
  readonly native?: Pick<Delivery, 'json' | 'stream'>
  /** Keeps the response open for an answer that takes minutes. */
  longPoll (): LongPollResponse
}

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
  serialize (body: object): string
}
