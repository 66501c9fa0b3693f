import { setImmediate as afterOthers } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { TimeoutsMs } from '../../config/catalogue/types.ts'
import { UpstreamError } from '../../shared/errors.ts'
import { atEndOfTurn, type Deadlines, type Watched } from '../../shared/timers.ts'
import { hasPlainBody } from './decoder.ts'
import type { Awaited, ChunkSink, UpstreamRequest, UpstreamResponse } from './response.ts'
import { networkError } from './network-error.ts'

/** What may follow the last event of a stream before its connection is given up. */
const finishLimits = { ms: 1000, bytes: 16 * 1024 }
/** Bytes waiting for a slow reader before the upstream is paused. */
const highWaterBytes = 64 * 1024
/** Bytes that a reader is given before other requests have their turn: of tiny events, each takes some µs. */
const bytesPerTurn = 64 * 1024

/**
 * One request and its response, which is read whole, iterated or piped. `undici` calls the `on…` methods.
 * Each state has its time limit; a failure ends any: of the network, an abort, a deadline or `cancel`.
 *
 *     sent ──first byte──▶ receiving ──last byte──▶ ended
 *                           │  ▲  │                  ▲
 *               slow reader ▼  │  └─finish─▶ finishing
 *                          paused
 */
export class UpstreamCall implements UpstreamResponse, Dispatcher.DispatchHandler, Watched {
  status = 0
  headers: UpstreamResponse['headers'] = {}
  dueMs: number
  slot = -1
  readonly head: Promise<UpstreamResponse>
  readonly url: string

  readonly #deadlines: Deadlines
  readonly #timeouts: TimeoutsMs
  readonly #awaits: Awaited | undefined
  readonly #signal: AbortSignal
  readonly #totalDueMs: number
  #headResolvers: { resolve: (response: UpstreamResponse) => void, reject: (error: unknown) => void }
  #controller: Dispatcher.DispatchController | undefined
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

  constructor (
    deadlines: Deadlines, timeouts: TimeoutsMs, { url, signal, awaits }: Pick<UpstreamRequest, 'signal' | 'awaits'> & { url: string }
  ) {
    const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>()
    this.head = promise
    this.url = url
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

  async * [Symbol.asyncIterator] (): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        if (this.#bytesOfTurn >= bytesPerTurn) await this.#nextTurn()
        const chunk = this.#chunks.shift()
        if (chunk !== undefined) {
          this.#queuedBytes -= chunk.length
          this.#bytesOfTurn += chunk.length
          if (this.#chunks.length === 0) this.resume()
          yield chunk
        } else if (this.#failure !== null) {
          throw this.#failure
        } else if (this.#ended) {
          return
        } else {
          await this.#arrival()
        }
      }
    } finally {
      if (!this.#finishing) this.cancel()
    }
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
    _controller: Dispatcher.DispatchController, status: number, headers: UpstreamResponse['headers']
  ): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    if (hasPlainBody(headers)) return atEndOfTurn(() => this.#headResolvers.resolve(this))
    const encoding = String(headers['content-encoding'])
    this.#fail(new UpstreamError('bad_reply', 'yes', `The provider used the content encoding ${encoding}.`))
  }

  onResponseData (_controller: Dispatcher.DispatchController, chunk: Buffer): void {
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

  onResponseEnd (): void {
    this.#ended = true
    this.#release()
    this.#sink?.end()
  }

  onResponseError (_controller: Dispatcher.DispatchController, error: Error): void {
    const isNew = this.#failure === null
    this.#failure ??= networkError(error, this.status !== 0)
    this.#release()
    this.#headResolvers.reject(this.#failure)
    if (isNew) this.#sink?.fail(this.#failure)
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
