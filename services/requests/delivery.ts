import type { ServerResponse } from 'node:http'
import type { EventStream } from '../providers/provider.ts'
import type { GatewayError } from '../shared/errors.ts'

/** Sends the response of one request to its client: one of `json`, `stream` and `longPoll`, once. */
export interface Delivery {
  /** Sends a whole response with status 200: `text` if it is given, else `body` serialized. */
  json (headers: Record<string, string>, body: unknown, text: string | null): void
  /**
   * Sends an event stream; resolves when its last byte was handed to the socket or the client has
   * disconnected. When `events` throws, `encodeError` writes the last events.
   */
  stream (headers: Record<string, string>, events: Events, encodeError: EncodeError): Promise<void>
  /**
   * Keeps a streamed response alive: after 10 s without a byte the client gets status 200 and `event`, and
   * `event` again after every 15 s of silence.
   */
  keepAlive (event: Uint8Array): StreamLife
  /** The same with blanks for a whole response, which `json` then ends; JSON may begin with blanks. */
  keepWholeAlive (): WholeLife
  /** Keeps the response open for a result that takes minutes. */
  longPoll (): LongPollResponse
}

/** A response that is kept alive until `stop` is called. */
export interface StreamLife {
  /** Whether the client has status 200 already, so that a failure has to be an event, or a body. */
  readonly hasBegun: boolean
  stop (): void
}

export interface WholeLife extends StreamLife {
  /** Sends a failure as the body; only once it has begun. */
  fail (error: unknown): void
}

/**
 * What a request was charged, in nano-USD, null if that is not known; and the counts that were charged if the
 * provider has not counted all.
 */
export interface Settled { costNano: number | null, estimate: Readonly<Record<string, number>> | null }

/** Settles a request. */
export type Settle = () => Promise<Settled>

/** Encodes the last events of a stream that has failed. */
export type EncodeError = (error: GatewayError) => Uint8Array

export type Events = EventStream | AsyncIterable<Uint8Array>

/** A response of chat as it is before it is written in the form of the client's API. */
export interface SentResponse {
  kind: 'json' | 'events'
  bytes: Uint8Array
  headers: Record<string, string>
  /** Whether a provider with the client's API has written it; else it is OpenAI's completion. */
  isNative: boolean
}

/** Receives a response that was sent whole; a stream only if it came to its proper end. */
export interface ResponseListener {
  /** A longer stream is not collected. */
  readonly maxBytes: number
  onSent (response: SentResponse): void
}

/** A response that is kept open. */
export interface LongPollResponse {
  readonly raw: ServerResponse
  /** Sends a whole response with status 200; only before `commit`. */
  send (headers: Record<string, string>, body: object): void
  /** Sends an error with its status; only before `commit`. */
  fail (error: GatewayError): void
  /** Sends status 200 and the headers; from then on the caller writes to `raw`. */
  commit (headers: Record<string, string>): void
  /** The text of a body as `send` would send it. */
  serialize (body: object): string | Promise<string>
}
