import type { EventStream } from '../providers/provider.ts'

/** The way back to one client. Exactly one of the two is called, once. */
export interface Delivery {
  /** Sends a whole answer: `text` as it is when given, else `body` through its schema's serializer. */
  json (headers: Record<string, string>, body: unknown, text: string | null): void
  /**
   * Sends an event stream; resolves when its last byte was handed to the socket or the client has gone. When
   * `events` throws, the client gets an error event and the stream ends without `[DONE]`.
   */
  stream (headers: Record<string, string>, events: Events): Promise<void>
}

export type Events = EventStream | AsyncIterable<Uint8Array>
