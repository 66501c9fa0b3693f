import type { UpstreamError } from '../shared/errors.ts'

/** A pool of connections to one upstream. */
export interface Connection {
  /** Resolves when the head of the answer is there; throws UpstreamError when there is none. */
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

/**
 * One answer of an upstream. Its body must be read, iterated or cancelled. All methods throw UpstreamError.
 */
export interface Exchange extends AsyncIterable<Buffer> {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** The whole body; throws when it is longer than `limitBytes`. */
  read (limitBytes: number): Promise<Buffer>
  /** Hands everything to the sink as it arrives, at once what is there already, instead of being asked. */
  pipeTo (sink: ChunkSink): void
  /** Lets a body flow on that its sink has stopped. */
  resume (): void
  /** Gives up on the rest of the body and frees the connection. */
  cancel (): void
  /** Lets the little that may follow the end of a stream arrive, so that the connection can be used again. */
  finish (): void
}

/** Takes the chunks of a body; after `end` or `fail` nothing more comes. */
export interface ChunkSink {
  /** Returns false to stop the flow until `resume`. */
  chunk (bytes: Buffer): boolean
  end (): void
  fail (error: UpstreamError): void
}
