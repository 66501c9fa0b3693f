import { UpstreamError } from '../../shared/errors.ts'
import type { Exchange } from '../../upstream/exchange.ts'
import { doneEvent, EventSplitter, eventsIn } from '../../upstream/sse.ts'
import type { EventSink, EventStream } from '../provider.ts'
import { recordEnd, recordUsage, type StreamReport } from '../report.ts'
import { PieceScan } from './piece-scan.ts'
import { StreamEditor, type RelayOptions, type StreamGuard } from './stream-editor.ts'

/** How many pieces are kept to see whether a stream without `[DONE]` ended properly. */
const tailPieces = 8
/** Most bytes of comments between two events: an hour of keep-alives passes, a flood does not. */
const maxCommentBytes = 256 * 1024
/** Comments before the first event are dropped this long: the error of a queued request keeps its status. */
const commentsDroppedMs = 10_000

const colon = 0x3a
const closingBracket = 0x5d

/**
 * Relays an upstream's event stream as bytes; resolves at its first event, so that a failure before it
 * rejects. Pieces pass untouched unless they carry usage to hide, something to translate, or an error. The
 * stream ends with `[DONE]` only if the upstream completed it; else it throws UpstreamError.
 */
export async function relayStream (
  exchange: Exchange, report: StreamReport, options: RelayOptions
): Promise<EventStream> {
  const chunks = exchange[Symbol.asyncIterator]()
  const relay = new Relay(report, options)

  async function read (): Promise<void> {
    const chunk = await chunks.next()
    if (chunk.done === true) relay.end()
    else relay.push(chunk.value)
    if (relay.isDone) exchange.finish()
  }

  async function next (): Promise<IteratorResult<Buffer, undefined>> {
    for (;;) {
      const value = relay.take()
      if (value !== undefined) return { done: false, value }
      if (relay.failure !== null) {
        exchange.cancel()
        throw relay.failure
      }
      if (relay.isDone) return { done: true, value }
      if (relay.isCut) await relay.close(exchange)
      else await read()
    }
  }

  const startedMs = performance.now()
  while (!relay.hasPieces && !relay.isDone && !relay.isCut && relay.failure === null) {
    await read()
    if (performance.now() - startedMs < commentsDroppedMs) relay.dropComments()
  }
  if (!relay.hasPieces && relay.failure !== null) {
    exchange.cancel()
    throw relay.failure
  }
  const iterator = {
    next,
    async return () {
      if (!relay.isDone) exchange.cancel()
      return { done: true as const, value: undefined }
    }
  }
  return { [Symbol.asyncIterator]: () => iterator, pipeTo: sink => pipe(exchange, relay, sink) }
}

/** Writes the rest of a stream to a sink without a promise per piece. */
async function pipe (exchange: Exchange, relay: Relay, sink: EventSink): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()

  function forward (): boolean {
    let isFree = true
    for (let piece = relay.take(); piece !== undefined; piece = relay.take()) isFree = sink.write(piece)
    if (relay.failure !== null) {
      reject(relay.failure)
      exchange.cancel()
    } else if (relay.isDone) {
      resolve()
      if (!relay.isCut) exchange.finish()
    } else if (relay.isCut) relay.close(exchange).then(forward, leave)
    return isFree
  }

  function leave (error: unknown): void {
    reject(error)
    exchange.cancel()
  }

  const isFree = forward()
  if (relay.failure === null && !relay.isDone && !relay.isCut) {
    if (!isFree) await sink.drained().catch(leave)
    exchange.pipeTo({
      chunk (bytes) {
        if (relay.isCut) return true
        relay.push(bytes)
        const isFree = forward()
        if (!isFree) sink.drained().then(() => exchange.resume(), leave)
        return isFree
      },
      end () {
        relay.end()
        forward()
      },
      fail: error => { if (!relay.isCut) reject(error) }
    })
  }
  await promise
}

/** The state of one relayed stream: takes chunks, gives pieces that the client may see. */
class Relay {
  isDone = false
  /** Whether the stream is longer than what is held: it is to be closed. */
  isCut = false
  /** Why no pieces follow those that are ready. */
  failure: UpstreamError | null = null
  readonly #splitter = new EventSplitter()
  readonly #report: StreamReport
  readonly #editor: StreamEditor
  readonly #guard: StreamGuard | null
  readonly #hideUsage: boolean
  readonly #scan = new PieceScan()
  readonly #tail: Buffer[] = []
  #ready: Buffer[] = []
  #commentBytes = 0

  constructor (report: StreamReport, options: RelayOptions) {
    this.#report = report
    this.#editor = new StreamEditor(report, options)
    this.#guard = options.guard ?? null
    this.#hideUsage = options.hideUsage
  }

  get hasPieces (): boolean {
    return this.#ready.length > 0
  }

  take (): Buffer | undefined {
    return this.#ready.shift()
  }

  dropComments (): void {
    this.#ready = this.#ready.filter(piece => !isAllComments(piece))
  }

  push (chunk: Buffer): void {
    const piece = this.#split(chunk)
    if (piece === null) return
    this.#commentBytes = piece[0] === colon && isAllComments(piece) ? this.#commentBytes + piece.length : 0
    if (this.#commentBytes > maxCommentBytes) return this.#fail('The provider sent nothing but comments.')
    this.#edit(piece)
    this.isDone = !this.isCut && endsWithDone(piece)
    if (this.isDone) recordEnd(this.#report)
    this.#tail.push(piece)
    if (this.#tail.length > tailPieces) this.#tail.shift()
  }

  /** Ends the call, and the stream as a server does that has reached its limit. */
  async close (exchange: Exchange): Promise<void> {
    exchange.cancel()
    const report = this.#report
    report.isCut = true
    if (this.#guard !== null) {
      const usage = await this.#guard.estimate(report)
      recordUsage(report, usage, true)
      const { output, object } = this.#guard
      const head = { object, ...this.#editor.head }
      this.#ready.push(...output.closingEvents(head, this.#hideUsage ? null : usage))
    }
    this.isDone = true
  }

  /** The upstream has ended its body; fails unless a `[DONE]` or a finish reason came before. */
  end (): void {
    this.isDone = true
    const rest = this.#splitter.rest()
    // The last event may lack its empty line.
    if (rest.length > 0) this.#edit(Buffer.concat([rest, Buffer.from('\n\n')]))
    const end = Buffer.concat([...this.#tail, rest]).toString()
    if (this.failure !== null) return
    const hasDone = /^data: ?\[DONE\]/m.test(end)
    if (!hasDone && !/"finish_reason":\s*"/.test(end)) {
      return this.#fail('The provider\'s stream broke off before it was complete.')
    }
    recordEnd(this.#report)
    if (!hasDone) this.#ready.push(doneEvent)
  }

  /** The events that are whole now, null when there is none; an event without end is a failure. */
  #split (chunk: Buffer): Buffer | null {
    try {
      return this.#splitter.push(chunk)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      this.failure = error
      return null
    }
  }

  #edit (whole: Buffer): void {
    this.#scan.scan(whole)
    const piece = this.#withinHold(whole)
    const visible = this.#editor.edit(piece, this.#scan)
    const { delivered } = this.#report
    delivered.take(piece, this.#scan.texts, this.#editor.countedTo)
    if (this.#editor.countedTo === 0) delivered.takeMedia(this.#scan.images, this.#scan.spokenBytes)
    if (visible.length > 0) this.#ready.push(visible)
    this.failure = this.#editor.failure
    const { usage, isPartial } = this.#report
    if (isPartial && usage !== null && this.#guard?.output.isExceededBy(usage) === true) this.isCut = true
  }

  /** The piece without the events that are longer than what is held. */
  #withinHold (piece: Buffer): Buffer {
    const end = this.#guard?.output.endIn(piece, this.#scan.texts) ?? -1
    if (end === -1) return piece
    this.isCut = true
    const rest = piece.subarray(0, end)
    this.#scan.scan(rest)
    return rest
  }

  #fail (message: string): void {
    this.failure = new UpstreamError('bad_reply', 'yes', message)
  }
}

/** Whether a piece ends with `data: [DONE]`. JSON ends with a brace, so one byte nearly always decides. */
function endsWithDone (piece: Buffer): boolean {
  return piece[piece.length - 3] === closingBracket && piece.subarray(-16).includes('[DONE]\n\n')
}

function isAllComments (piece: Buffer): boolean {
  return eventsIn(piece).next().done === true
}
