import type { UpstreamError } from '../../shared/errors.ts'

/** A pool of connections to one upstream. */
export interface Connection {
  /** Resolves with the head of the answer. Throws UpstreamError. */
  send (request: UpstreamRequest): Promise<UpstreamResponse>
  close (): Promise<void>
}

export interface UpstreamRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Appended to the upstream's base URL; starts with a slash. */
  path: string
  headers: Record<string, string>
  body?: Uint8Array
  signal: AbortSignal
  /**
   * What the time limits wait for. `whole`: an answer whose first byte comes once it is generated, due at the
   * total limit. `stream`: events, for as long as they come, without a total limit. Absent: an answer that
   * needs no generation, such as the state of a job, to which all limits apply.
   */
  awaits?: Awaited
}

/**
 * Returns further headers of a request, such as a signature or a token that expires; called for each request
 * just before it is sent. `url` is whole. Throws UpstreamError with `sent: 'no'`.
 */
export interface Authorize {
  (request: Pick<UpstreamRequest, 'method' | 'headers' | 'body' | 'signal'> & { url: URL }): Promise<Record<string, string>>
  /**
   * The service has refused such headers with 401. Returns whether others may be accepted: the request is
   * then repeated once. Absent: it is not.
   */
  refused?: (headers: Readonly<Record<string, string>>) => boolean
}

export type Awaited = 'whole' | 'stream'

/** What a request for generated text waits for. */
export function awaitedBy ({ stream }: { stream?: boolean | null }): Awaited {
  return stream === true ? 'stream' : 'whole'
}

/** One answer, whose body must be read, iterated, piped or cancelled. Methods throw UpstreamError. */
export interface UpstreamResponse extends AsyncIterable<Buffer> {
  readonly status: number
  /** The address that was called, without its query. */
  readonly url?: string
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
