import type { VideoSettings } from '../config/catalogue/types.ts'
import { GatewayError } from '../shared/errors.ts'
import { whenClosed } from './attempt.ts'
import type { LongPollResponse } from './delivery.ts'
import type { WaitingClient } from './joins/client-presence.ts'
import type { RequestRecord } from './request-record.ts'

interface LongPollOptions {
  response: LongPollResponse
  headers: Record<string, string>
  settings: Pick<VideoSettings, 'heartbeat' | 'heartbeatAfterMs' | 'heartbeatEveryMs' | 'maxHoldMs'>
  /** The timeout of the client; null if it does not state one. */
  clientTimeoutMs: number | null
  record: RequestRecord
  /** Records how the wait ends; that the client leaves, before it is sent away. */
  client: WaitingClient
  /** The error for a client that waited for the longest hold, but whose work goes on. */
  stillRunning (): GatewayError
  /**
   * The body for a failure after 200 was sent; a valid completion, because clients parse any 200 as a
   * success.
   */
  failureBody (error: GatewayError): object
}

const space = ' '
/** These keep nginx and compressing proxies from buffering the spaces. */
export const heldHeaders = { 'content-type': 'application/json; charset=utf-8', 'x-accel-buffering': 'no', 'cache-control': 'no-transform' }
/**
 * The stated length of a response by HTTP/1.0, which has no chunks: without one, a response that broke off
 * is complete for its client (RFC 9112, section 8). Spaces fill what the completion does not need.
 */
const statedBytes = 16_384
const maxSpaces = statedBytes / 4
const maxUnread = 1024
/** A slower database must not keep the client beyond its timeout. */
const maxLeaveMs = 500
const graceMs = 5_000

/**
 * Keeps a response open until the work of its client has ended.
 *
 *     silent ── heartbeatAfterMs ──▶ beating ⟲ heartbeatEveryMs
 *       │                              │
 *       ├── succeed, fail ─────────────┴──▶ whole ── closed ──▶ the client has received it
 *       ├── giveUp, drop ──────────────┬──▶ part ─── closed ──▶ the client has left
 *       └── maxHoldMs, release ──▶ leaving ──▲
 *
 * `silent` sends nothing, so that an early error keeps its status; `beating` sends 200 and a space from
 * time to time (JSON may begin and end with spaces), so that idle timeouts of proxies and clients do not
 * fire. `leaving` waits until it is recorded that the client leaves, unless the result comes first. A client
 * that disconnects in any state has left.
 */
export class LongPoll {
  /** Resolves when the response has ended or the client has disconnected. */
  readonly closed: Promise<void>
  readonly #options: LongPollOptions
  readonly #isChunked: boolean
  readonly #stop: NodeJS.Timeout
  #beat: NodeJS.Timeout | undefined
  #isBeating = false
  #isLeaving = false
  #sent: 'no' | 'part' | 'whole' = 'no'
  #spaces = 0

  constructor (options: LongPollOptions) {
    const { response: { raw }, settings: { heartbeat, heartbeatAfterMs } } = options
    this.#options = options
    this.#isChunked = raw.req.httpVersionMinor > 0
    const holdMs = maxHoldMs(options)
    this.#stop = setTimeout(() => this.#leave(() => this.giveUp(options.stillRunning())), holdMs)
    // A client with a short timeout gets an early 504 that it retries; after 200 it would not.
    const beats = heartbeat && holdMs > heartbeatAfterMs * 3
    this.#beat = beats ? setTimeout(() => this.#onBeat(), heartbeatAfterMs) : undefined
    const { promise, resolve } = Promise.withResolvers<void>()
    this.closed = promise
    whenClosed(raw, () => {
      this.#end()
      resolve()
      if (this.#sent === 'whole' && raw.writableFinished) options.client.receive()
      else options.client.leave()
    })
  }

  /** Sends the result. */
  succeed (body: object, more: Record<string, string>): void {
    if (this.#sent !== 'no') return
    const { response, headers, record } = this.#options
    this.#sent = 'whole'
    this.#end()
    if (this.#isBeating) {
      this.#finish(body)
    } else {
      record.firstByteAtMs = performance.now()
      response.send({ ...headers, ...more }, body)
    }
  }

  /** Sends the failure of the work: by its status, or in a completion if 200 was sent already. */
  fail (error: GatewayError): void { this.#fail(error, 'whole') }

  /** As `fail`, for an error after which the client still has not got the result. */
  giveUp (error: GatewayError): void { this.#fail(error, 'part') }

  /** Ends it without a response, which the caller sends; false if 200 was sent already. */
  drop (): boolean {
    if (this.#isBeating || this.#sent !== 'no') return false
    this.#sent = 'part'
    this.#end()
    return true
  }

  /**
   * Ends it because the gateway stops: with 503; after a 200 by closing the connection, which some SDKs
   * retry, and for HTTP/1.0 by a completion that contains the error.
   */
  release (): void {
    this.#leave(() => {
      if (this.#sent !== 'no') return
      if (!this.#isBeating) return this.giveUp(GatewayError.shuttingDown(' Send the same request again to keep waiting.'))
      const { response, stillRunning } = this.#options
      if (!this.#isChunked) return this.giveUp(stillRunning())
      this.#sent = 'part'
      this.#end()
      response.raw.destroy()
    })
  }

  #onBeat (): void {
    const { response, response: { raw }, headers, settings, record } = this.#options
    if (!this.#isBeating) {
      this.#isBeating = true
      record.firstByteAtMs = performance.now()
      response.commit({ ...headers, ...heldHeaders, ...(!this.#isChunked && { 'content-length': String(statedBytes) }) })
    }
    // What a client does not read stays in this process's memory.
    if (raw.writableLength < maxUnread && (this.#isChunked || this.#spaces < maxSpaces)) {
      raw.write(space)
      this.#spaces++
    }
    this.#beat = setTimeout(() => this.#onBeat(), settings.heartbeatEveryMs)
  }

  #end (): void {
    clearTimeout(this.#stop)
    clearTimeout(this.#beat)
  }

  #fail (error: GatewayError, sent: 'part' | 'whole'): void {
    if (this.#sent !== 'no') return
    const { response, record, failureBody } = this.#options
    this.#sent = sent
    this.#end()
    if (!this.#isBeating) return response.fail(error)
    record.failure = error
    record.code = error.code
    this.#finish(failureBody(error))
  }

  /** Never rejects. */
  async #finish (body: object): Promise<void> {
    const { response, response: { raw }, record } = this.#options
    try {
      const text = await response.serialize(body)
      if (raw.destroyed) return
      const left = this.#isChunked ? 0 : statedBytes - this.#spaces - Buffer.byteLength(text)
      // The client sees that the response is incomplete, and its next request gets the result at once.
      if (left < 0) raw.destroy()
      else raw.end(text + space.repeat(left))
    } catch (error) {
      record.failure = GatewayError.internal(error)
      raw.destroy()
    }
  }

  /** Records that the client leaves, for at most `maxLeaveMs`, then calls `end`; once. */
  async #leave (end: () => void): Promise<void> {
    if (this.#isLeaving || this.#sent !== 'no') return
    this.#isLeaving = true
    const limit = Promise.withResolvers<void>()
    const timer = setTimeout(limit.resolve, maxLeaveMs)
    await Promise.race([this.#options.client.leave(), limit.promise])
    clearTimeout(timer)
    end()
  }
}

/** Below the client's timeout, so that it learns that the work goes on. */
function maxHoldMs ({ settings, clientTimeoutMs }: LongPollOptions): number {
  if (clientTimeoutMs === null) return settings.maxHoldMs
  return Math.max(1, Math.min(settings.maxHoldMs, clientTimeoutMs - Math.min(graceMs, clientTimeoutMs / 10)))
}
