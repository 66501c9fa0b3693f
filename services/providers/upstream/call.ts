import { setImmediate as afterOthers } from 'node:timers/promises'
import { Pool, type Dispatcher } from 'undici'
import type { TimeoutsMs } from '../../config/catalogue/types.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { atEndOfTurn, type Deadlines, type Watched } from '../../shared/timers.ts'
import { decoderFor } from './decoder.ts'
import type { Awaited, ChunkSink, Connection, UpstreamResponse } from './response.ts'
import { networkError } from './network-error.ts'

/** What may follow the last event of a stream before its connection is given up. */
const finishLimits = { ms: 1000, bytes: 16 * 1024 }
/** `none` is what servers set that keep a proxy from compressing a stream. */
const plainEncodings = new Set(['', 'identity', 'none'])
/** Bytes waiting for a slow reader before the upstream is paused. */
const highWaterBytes = 64 * 1024
/** Bytes that a reader is given before other requests have their turn: of tiny events, each takes some µs. */
const bytesPerTurn = 64 * 1024

/** One request and its answer. `undici` calls the `on…` methods. */
class UpstreamCall implements UpstreamResponse, Dispatcher.DispatchHandler, Watched, AsyncIterator<Buffer> {
  status = 0
  headers: UpstreamResponse['headers'] = {}
  dueMs: number
  slot = -1
  readonly head: Promise<UpstreamResponse>

  readonly #deadlines: Deadlines
  readonly #timeouts: TimeoutsMs
  readonly #awaits: Awaited | undefined
  readonly #signal: AbortSignal
  readonly #totalDueMs: number
  #headResolvers: { resolve: (exchange: UpstreamResponse) => void, reject: (error: unknown) => void }
  #controller: Dispatcher.DispatchController | undefined
  #decoder: Dispatcher.DispatchHandler | null = null
  #chunks: Buffer[] = []
  #queuedBytes = 0
  #bytesOfTurn = 0
  #receivedBytes = 0
  #started = false
  #isPaused = false
  #ended = false
  #failure: UpstreamError | null = null
  #finishing = false
  #whole = false
  #wake: (() => void) | null = null
  #sink: ChunkSink | null = null

  constructor (deadlines: Deadlines, timeouts: TimeoutsMs, signal: AbortSignal, awaits: Awaited | undefined) {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>()
    this.head = promise
    this.#headResolvers = { resolve, reject }
    this.#deadlines = deadlines
    this.#timeouts = timeouts
    this.#awaits = awaits
    this.#signal = signal
    deadlines.add(this)
    this.#totalDueMs = awaits === 'stream' ? Infinity : deadlines.nowMs + timeouts.totalMs
    const firstByteDueMs = awaits === 'whole' ? Infinity : deadlines.nowMs + timeouts.firstByteMs
    this.dueMs = Math.min(firstByteDueMs, this.#totalDueMs)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#onAbort()
  }

  async read (limitBytes: number): Promise<Buffer> {
    this.#whole = true
    if (this.#controller?.paused === true) this.#resume(this.#controller)
    while (!this.#ended && this.#failure === null && this.#receivedBytes <= limitBytes) await this.#arrival()
    if (this.#failure === null && this.#receivedBytes > limitBytes) {
      const error = new UpstreamError('bad_reply', 'yes', `The answer is longer than ${limitBytes} bytes.`)
      this.#fail(error)
      throw error
    }
    if (this.#failure !== null) throw this.#failure
    const chunks = this.#takeChunks()
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  }

  [Symbol.asyncIterator] (): AsyncIterator<Buffer> {
    return this
  }

  next (): Promise<IteratorResult<Buffer, undefined>> {
    if (this.#bytesOfTurn >= bytesPerTurn) return this.#nextTurn().then(() => this.next())
    const value = this.#chunks.shift()
    if (value === undefined) {
      if (this.#failure !== null) return Promise.reject(this.#failure)
      if (this.#ended) return Promise.resolve({ done: true, value })
      return this.#arrival().then(() => this.next())
    }
    this.#queuedBytes -= value.length
    this.#bytesOfTurn += value.length
    if (this.#controller?.paused === true && this.#chunks.length === 0) this.#resume(this.#controller)
    return Promise.resolve({ done: false, value })
  }

  async return (): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#finishing) this.cancel()
    return { done: true, value: undefined }
  }

  pipeTo (sink: ChunkSink): void {
    this.#sink = sink
    const chunks = this.#takeChunks()
    let more = true
    for (const chunk of chunks) more = sink.chunk(chunk)
    if (this.#failure !== null) sink.fail(this.#failure)
    else if (this.#ended) sink.end()
    else if (!more) this.#pause()
    else this.resume()
  }

  resume (): void {
    if (this.#controller?.paused === true && this.#failure === null) this.#resume(this.#controller)
  }

  cancel (): void {
    this.#fail(new UpstreamError('aborted', 'yes', 'The answer was cancelled.'))
  }

  finish (): void {
    this.#finishing = true
    this.#sink = null
    this.#takeChunks()
    this.#receivedBytes = 0
    this.dueMs = this.#deadlines.nowMs + finishLimits.ms
    if (this.#controller?.paused === true) this.#controller.resume()
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== null) controller.abort(this.#failure)
  }

  onResponseStart (
    controller: Dispatcher.DispatchController, status: number, headers: UpstreamResponse['headers']
  ): void {
    if (status < 200) return
    const encoding = headers['content-encoding'] ?? ''
    const isPlain = typeof encoding === 'string' && plainEncodings.has(encoding.trim().toLowerCase())
    if (!isPlain && this.#decoder === null) return this.#decode(controller, status, headers)
    this.status = status
    this.headers = headers
    if (isPlain) return atEndOfTurn(() => this.#headResolvers.resolve(this))
    this.#fail(new UpstreamError('bad_reply', 'yes', `The provider used the content encoding ${String(encoding)}.`))
  }

  onResponseData (controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#isEncoded(controller)) {
      this.#decoder?.onResponseData?.(controller, chunk)
      return
    }
    this.#receivedBytes += chunk.length
    if (this.#finishing) {
      if (this.#receivedBytes > finishLimits.bytes) this.cancel()
      return
    }
    this.#started ||= this.#awaits !== 'whole' || !isBlank(chunk)
    this.#expectMore()
    if (this.#sink !== null) return this.#push(this.#sink, chunk)
    this.#chunks.push(chunk)
    this.#queuedBytes += chunk.length
    if (this.#queuedBytes >= highWaterBytes && this.#wake === null && !this.#whole) this.#pause()
    this.#notify()
  }

  onResponseEnd (controller: Dispatcher.DispatchController, trailers: UpstreamResponse['headers']): void {
    if (this.#isEncoded(controller)) {
      this.#decoder?.onResponseEnd?.(controller, trailers)
      return
    }
    this.#ended = true
    this.#release()
    this.#sink?.end()
  }

  onResponseError (controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#isEncoded(controller)) {
      this.#decoder?.onResponseError?.(controller, error)
      return
    }
    const isNew = this.#failure === null
    this.#failure ??= networkError(error, this.status !== 0)
    this.#release()
    this.#headResolvers.reject(this.#failure)
    if (isNew) this.#sink?.fail(this.#failure)
  }

  /**
   * Puts undici's decoder between the socket and this call, for a server that compresses without being asked.
   * From here on the decoder calls the `on…` methods too, with a controller of its own.
   */
  #decode (controller: Dispatcher.DispatchController, status: number, headers: UpstreamResponse['headers']): void {
    const decoder = this.#decoder = decoderFor(this)
    decoder.onRequestStart?.(controller, null)
    decoder.onResponseStart?.(controller, status, headers)
  }

  /** Whether an event comes from the socket and has to pass the decoder first. */
  #isEncoded (controller: Dispatcher.DispatchController): boolean {
    return this.#decoder !== null && controller !== this.#controller
  }

  onDeadline (): void {
    if (this.#finishing) return this.cancel()
    this.#fail(new UpstreamError('timeout', 'maybe', this.#limitPassed(), { ranOut: true }))
  }

  /** Which time limit has passed, as a sentence. */
  #limitPassed (): string {
    const { firstByteMs, idleMs, totalMs } = this.#timeouts
    if (this.#deadlines.nowMs >= this.#totalDueMs) return `The provider did not finish within ${totalMs} ms.`
    if (this.#isPaused) return `The client read nothing for ${totalMs} ms.`
    if (this.#started) return `The provider sent nothing for ${idleMs} ms.`
    return `The provider sent no answer within ${firstByteMs} ms.`
  }

  readonly #onAbort = (): void => {
    const sent = this.#controller === undefined ? 'no' : 'maybe'
    this.#fail(new UpstreamError('aborted', sent, 'The request was aborted.'))
  }

  #fail (error: UpstreamError): void {
    if (this.#ended || this.#failure !== null) return
    this.#failure = error
    this.#release()
    this.#headResolvers.reject(error)
    this.#controller?.abort(error)
    this.#sink?.fail(error)
  }

  #push (sink: ChunkSink, chunk: Buffer): void {
    this.#bytesOfTurn += chunk.length
    const isFree = sink.chunk(chunk)
    if (this.#sink === null || (isFree && this.#bytesOfTurn < bytesPerTurn)) return
    this.#pause()
    if (isFree) this.#nextTurn().then(() => this.resume())
  }

  /** Resolves once other requests have had their turn. */
  async #nextTurn (): Promise<void> {
    await afterOthers()
    this.#bytesOfTurn = 0
  }

  #takeChunks (): Buffer[] {
    const chunks = this.#chunks
    this.#chunks = []
    this.#queuedBytes = 0
    return chunks
  }

  #pause (): void {
    this.#controller?.pause()
    this.#isPaused = true
    // The provider cannot send, so that only the time of the reader counts.
    this.dueMs = Math.min(this.#deadlines.nowMs + this.#timeouts.totalMs, this.#totalDueMs)
  }

  #resume (controller: Dispatcher.DispatchController): void {
    this.#isPaused = false
    this.#expectMore()
    controller.resume()
  }

  #expectMore (): void {
    const idleDueMs = this.#started ? this.#deadlines.nowMs + this.#timeouts.idleMs : Infinity
    this.dueMs = Math.min(idleDueMs, this.#totalDueMs)
  }

  #release (): void {
    this.#deadlines.delete(this)
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#notify()
  }

  #arrival (): Promise<void> {
    return new Promise(resolve => { this.#wake = resolve })
  }

  #notify (): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }
}

/** Whether a chunk has only white space, which some servers send before an answer while they work on it. */
const isBlank = (chunk: Buffer): boolean => chunk.every(byte => byte <= 0x20)

interface ConnectionOptions {
  baseUrl: string
  timeouts: TimeoutsMs
  maxConnections: number
  deadlines: Deadlines
}

/** Opens a keep-alive pool to one upstream. It follows no redirects, so that no key leaves its origin. */
export function createConnection (
  { baseUrl, timeouts, maxConnections, deadlines }: ConnectionOptions
): Connection {
  const url = new URL(baseUrl)
  const prefix = url.pathname.replace(/\/$/, '')
  const pool = new Pool(url.origin, {
    connections: maxConnections,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: 0,
    bodyTimeout: 0
  })
  return {
    send ({ method, path, headers, body, signal, awaits }) {
      const call = new UpstreamCall(deadlines, timeouts, signal, awaits)
      pool.dispatch({ method, path: prefix + path + url.search, headers, body: body ?? null }, call)
      return call.head
    },
    close: () => pool.close()
  }
}
