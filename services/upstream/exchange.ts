import type { UpstreamError } from '../shared/errors.ts'

/** A pool of connections to one upstream. */
export interface Connection {
  /** Resolves with the head of the answer. Throws UpstreamError. */
  send (request: UpstreamRequest): Promise<Exchange>
  close (): Promise<void>
}

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Appended to the upstream's base URL; starts with a slash. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array
  signal: AbortSignal
}

/** One answer, whose body must be read, iterated, piped or cancelled. Methods throw UpstreamError. */
export interface Exchange extends AsyncIterable<Buffer> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The whole body; throws when it is longer than `limitBytes`. */
  read (limitBytes: number): Promise<Buffer>
  /** Pushes every chunk to the sink as it arrives, beginning with those already received. */
  pipeTo (sink: ChunkSink): void
  resume (): void
  /** Discards the rest of the body and closes the connection. */
  cancel (): void
  /** Reads the few bytes that may follow the last event, so that the connection can be reused. */
  finish (): void
}

/** Receives the chunks of a body; nothing follows `end` or `fail`. */
export interface ChunkSink {
  /** Returns false to pause until `resume`; one more chunk may be in flight. */
  chunk (bytes: Buffer): boolean
  end (): void
  fail (error: UpstreamError): void
}
