import { Pool, type Dispatcher } from 'undici'
import type { TimeoutsMs } from '../catalogue/types.ts'
import type { Deadlines, Watched } from '../shared/deadline-timer.ts'
import { decompressed } from './decompress.ts'
import { UpstreamError, type Sent } from '../shared/errors.ts'
import type { Connection, UpstreamRequest, Exchange, ChunkSink } from './exchange.ts'

interface ConnectionOptions {
  baseUrl: string
  timeouts: TimeoutsMs
  maxConnections: number
  deadlines: Deadlines
}

/**
 * Longest wait, and most bytes, for what follows the last event of a stream before its connection is given
 * up.
 */
const finishLimits = { ms: 1000, bytes: 16 * 1024 }
/** Chunks waiting for a slow reader before the upstream is paused. */
const highWaterChunks = 16

/**
 * Opens a keep-alive pool to one upstream. `undici` never follows redirects here, so no key leaves its
 * origin.
 */
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
    send ({ method, path, headers, body, signal }: UpstreamRequest) {
      const call = new Call(deadlines, timeouts, signal)
      pool.dispatch({ method, path: prefix + path + url.search, headers, body: body ?? null }, call)
      return call.head
    },
    async close () {
      await pool.close()
    }
  }
}

/** One request and its answer; undici calls the `on…` methods. */
class Call implements Exchange, Dispatcher.DispatchHandler, Watched, AsyncIterator<Buffer> {
  status = 0
  headers: Exchange['headers'] = {}
  dueMs: number
  slot = -1
  readonly head: Promise<Exchange>

  readonly #deadlines: Deadlines
  readonly #timeouts: TimeoutsMs
  readonly #signal: AbortSignal
  readonly #totalDueMs: number
  #settleHead: { resolve: (exchange: Exchange) => void, reject: (error: unknown) => void }
  #controller: Dispatcher.DispatchController | undefined
  #chunks: Buffer[] = []
  #receivedBytes = 0
  #started = false
  #ended = false
  #failure: UpstreamError | null = null
  #finishing = false
  #whole = false
  #wake: (() => void) | null = null
  #sink: ChunkSink | null = null

  constructor (deadlines: Deadlines, timeouts: TimeoutsMs, signal: AbortSignal) {
    const { promise, resolve, reject } = Promise.withResolvers<Exchange>()
    this.head = promise
    this.#settleHead = { resolve, reject }
    this.#deadlines = deadlines
    this.#timeouts = timeouts
    this.#signal = signal
    deadlines.add(this)
    this.#totalDueMs = deadlines.nowMs + timeouts.totalMs
    this.dueMs = Math.min(deadlines.nowMs + timeouts.firstByteMs, this.#totalDueMs)
    signal.addEventListener('abort', this.#onAbort)
    if (signal.aborted) this.#onAbort()
  }

  async read (limitBytes: number): Promise<Buffer> {
    this.#whole = true
    if (this.#controller?.paused === true) this.#resume(this.#controller)
    while (!this.#ended && this.#failure === null) {
      if (this.#receivedBytes > limitBytes) {
        this.#fail(new UpstreamError('bad_reply', 'yes', `The answer is longer than ${limitBytes} bytes.`))
        break
      }
      await this.#arrival()
    }
    if (this.#failure !== null) throw this.#failure
    const chunks = this.#chunks
    this.#chunks = []
    return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)
  }

  [Symbol.asyncIterator] (): AsyncIterator<Buffer> {
    return this
  }

  next (): Promise<IteratorResult<Buffer, undefined>> {
    const value = this.#chunks.shift()
    if (value === undefined) {
      if (this.#failure !== null) return Promise.reject(this.#failure)
      if (this.#ended) return Promise.resolve({ done: true, value })
      return this.#arrival().then(() => this.next())
    }
    if (this.#controller?.paused === true && this.#chunks.length === 0) this.#resume(this.#controller)
    return Promise.resolve({ done: false, value })
  }

  async return (): Promise<IteratorResult<Buffer, undefined>> {
    if (!this.#finishing) this.cancel()
    return { done: true, value: undefined }
  }

  pipeTo (sink: ChunkSink): void {
    this.#sink = sink
    const chunks = this.#chunks
    this.#chunks = []
    let more = true
    for (const chunk of chunks) more = sink.chunk(chunk)
    if (this.#failure !== null) sink.fail(this.#failure)
    else if (this.#ended) sink.end()
    else if (!more) this.#pause()
    else this.resume()
  }

  resume (): void {
    if (this.#controller?.paused === true) this.#resume(this.#controller)
  }

  cancel (): void {
    this.#fail(new UpstreamError('aborted', 'yes', 'The answer was cancelled.'))
  }

  finish (): void {
    this.#finishing = true
    this.#sink = null
    this.#chunks = []
    this.#receivedBytes = 0
    this.dueMs = this.#deadlines.nowMs + finishLimits.ms
    if (this.#controller?.paused === true) this.#controller.resume()
  }

  onRequestStart (controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#failure !== null) controller.abort(this.#failure)
  }

  onResponseStart (_: Dispatcher.DispatchController, status: number, headers: Exchange['headers']): void {
    if (status < 200) return
    this.status = status
    this.headers = headers
    try {
      this.#settleHead.resolve(decompressed(this))
    } catch (error) {
      this.#settleHead.reject(error)
    }
  }

  onResponseData (_: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receivedBytes += chunk.length
    if (this.#finishing) {
      if (this.#receivedBytes > finishLimits.bytes) this.cancel()
      return
    }
    this.#started = true
    this.dueMs = Math.min(this.#deadlines.nowMs + this.#timeouts.idleMs, this.#totalDueMs)
    if (this.#sink !== null) {
      if (!this.#sink.chunk(chunk)) this.#pause()
      return
    }
    this.#chunks.push(chunk)
    if (this.#chunks.length >= highWaterChunks && this.#wake === null && !this.#whole) this.#pause()
    this.#notify()
  }

  onResponseEnd (): void {
    this.#ended = true
    this.#release()
    this.#sink?.end()
  }

  onResponseError (_: Dispatcher.DispatchController, error: Error): void {
    const isNew = this.#failure === null
    this.#failure ??= networkError(error, this.status !== 0)
    this.#release()
    this.#settleHead.reject(this.#failure)
    if (isNew) this.#sink?.fail(this.#failure)
  }

  onDeadline (): void {
    const { firstByteMs, idleMs, totalMs } = this.#timeouts
    if (this.#finishing) return this.cancel()
    const limit = this.#deadlines.nowMs >= this.#totalDueMs
      ? `did not finish within ${totalMs} ms`
      : this.#started ? `sent nothing for ${idleMs} ms` : `sent no answer within ${firstByteMs} ms`
    this.#fail(new UpstreamError('timeout', 'maybe', `The provider ${limit}.`))
  }

  readonly #onAbort = (): void => {
    this.#fail(new UpstreamError('aborted', 'maybe', 'The request was aborted.'))
  }

  #fail (error: UpstreamError): void {
    if (this.#ended || this.#failure !== null) return
    this.#failure = error
    this.#release()
    this.#settleHead.reject(error)
    this.#controller?.abort(error)
    this.#sink?.fail(error)
  }

  #pause (): void {
    this.#controller?.pause()
    // A slow reader is not the upstream's fault: while paused only the total time counts.
    this.dueMs = this.#totalDueMs
  }

  #resume (controller: Dispatcher.DispatchController): void {
    this.dueMs = Math.min(this.#deadlines.nowMs + this.#timeouts.idleMs, this.#totalDueMs)
    controller.resume()
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

/** Error codes after which the request certainly never left: it may be tried again anywhere. */
const neverSent = new Set([
  'ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'
])

function networkError (error: Error, answered: boolean): UpstreamError {
  const code = codeOf(error)
  const isTls = code.startsWith('ERR_TLS') || code.startsWith('ERR_SSL') || code.includes('CERT') ||
    code === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
  const sent: Sent = answered ? 'yes' : neverSent.has(code) || isTls ? 'no' : 'maybe'
  const kind = code === 'UND_ERR_CONNECT_TIMEOUT' ? 'timeout' : 'network'
  const what = sent === 'no' ? 'could not be reached' : 'broke the connection'
  return new UpstreamError(kind, sent, `The provider ${what} (${code || error.name}).`, { cause: error })
}

function codeOf (error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
