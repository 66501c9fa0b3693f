import { UpstreamError } from '../../shared/errors.ts'
import type { Exchange } from '../../upstream/exchange.ts'
import { doneEvent, EventSplitter, eventsIn } from '../../upstream/sse.ts'
import type { EventSink } from '../provider.ts'
import { recordEnd, recordUsage, type StreamReport } from '../report.ts'
import { PieceScan } from './piece-scan.ts'
import { StreamEditor, type RelayOptions, type StreamGuard } from './stream-editor.ts'
import type { StreamForm } from './stream-repair.ts'

/** Most bytes of comments between two events: an hour of keep-alives passes, a flood does not. */
const maxCommentBytes = 256 * 1024
/**
 * Comments of the provider are not passed on. If there is nothing else for this long, the client gets one of
 * the gateway's, so that proxies keep the connection. Before the first event that fixes the status as 200.
 */
const defaultQuietMs = 10_000
const keepAlive = Buffer.from(': keep-alive\n\n')

const colon = 0x3a

/** The state of one relayed stream: takes chunks, gives pieces that the client may see. */
export class StreamRelay {
  isDone = false
  /** Whether the stream is longer than what is held: it is to be closed. */
  isCut = false
  /** Why no pieces follow. */
  failure: Error | null = null
  /** Whether the sink takes more. */
  isFree = true
  readonly #splitter = new EventSplitter()
  readonly #report: StreamReport
  readonly #editor: StreamEditor
  readonly #guard: StreamGuard | null
  readonly #form: StreamForm
  readonly #quietMs: number
  readonly #scan = new PieceScan()
  /** The pieces for the client until there is a sink. */
  #ready: Buffer[] = []
  #sink: EventSink | null = null
  #commentBytes = 0
  /** When the comments since the last event began, or the last one was answered. */
  #quietSinceMs = 0

  constructor (report: StreamReport, options: RelayOptions) {
    this.#report = report
    this.#editor = new StreamEditor(report, options)
    this.#guard = options.guard ?? null
    this.#form = options
    this.#quietMs = options.quietMs ?? defaultQuietMs
  }

  get hasPieces (): boolean {
    return this.#ready.length > 0
  }

  take (): Buffer | undefined {
    return this.#ready.shift()
  }

  /** From now on pieces go to a sink, beginning with those that are ready. */
  writeTo (sink: EventSink): void {
    this.#sink = sink
    this.#passAll(this.#ready)
    this.#ready = []
  }

  push (chunk: Buffer): void {
    if (this.isDone || this.failure !== null) return
    const rest = this.#splitter.isEmpty ? this.#passKnown(chunk) : chunk
    if (rest === null) return
    const piece = this.#split(rest)
    // What was cut in two or had other line ends may be known as well.
    const unknown = piece === null || piece === rest ? piece : this.#passKnown(piece)
    if (unknown === null) return
    if (unknown[0] === colon && isAllComments(unknown)) return this.#pushComments(unknown)
    this.#commentBytes = 0
    this.#edit(unknown)
  }

  /** Passes the known events at the start of some bytes, and returns what follows them; null: nothing. */
  #passKnown (bytes: Buffer): Buffer | null {
    const { known, repair } = this.#editor
    if (repair.isHolding) return bytes
    let passed = 0
    let at = 0
    while (at < bytes.length) {
      const end = known.find(bytes, at)
      if (end === -1) break
      this.isCut = !this.#takeKnown(bytes)
      if (this.isCut) break
      if (known.visible !== null) {
        if (at > passed) this.#pass(bytes.subarray(passed, at))
        this.#pass(known.visible)
        passed = end
      }
      at = end
    }
    if (at === 0 && !this.isCut) return bytes
    this.#commentBytes = 0
    if (at > passed) this.#pass(passed === 0 && at === bytes.length ? bytes : bytes.subarray(passed, at))
    return this.isCut || at === bytes.length ? null : bytes.subarray(at)
  }

  /** Counts a known event; false if the stream is longer with it than what is held. */
  #takeKnown (bytes: Buffer): boolean {
    const { strings, textsEnd } = this.#editor.known
    if (this.#guard !== null) {
      let textBytes = 0
      for (let i = 0; i < textsEnd; i += 2) textBytes += (strings[i + 1] ?? 0) - (strings[i] ?? 0)
      if (this.#guard.output.countEvent(textBytes)) return false
    }
    this.#report.delivered.take(bytes, strings, 0, textsEnd)
    return true
  }

  #pass (piece: Buffer): void {
    if (this.#sink === null) this.#ready.push(piece)
    else this.isFree = this.#sink.write(piece)
  }

  #passAll (pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.#pass(piece)
  }

  #pushComments (piece: Buffer): void {
    const nowMs = performance.now()
    if (this.#commentBytes === 0) this.#quietSinceMs = nowMs
    this.#commentBytes += piece.length
    if (this.#commentBytes > maxCommentBytes) return this.#fail('The provider sent only comments.')
    if (nowMs - this.#quietSinceMs < this.#quietMs) return
    this.#quietSinceMs = nowMs
    this.#pass(keepAlive)
  }

  /** Ends the call, and the stream as a server does that has reached its limit. */
  async close (exchange: Exchange): Promise<void> {
    exchange.cancel()
    const report = this.#report
    report.isCut = true
    for (let index = 0; index < this.#form.choices; index++) {
      if (!report.finishReasons.has(index)) report.finishReasons.set(index, 'length')
    }
    if (this.#guard !== null) {
      const usage = await this.#guard.estimate(report)
      recordUsage(report, usage, true)
      const { repair } = this.#editor
      const { hideUsage, fallback } = this.#form
      const closing = this.#guard.output.closingEvents(repair.head ?? fallback, hideUsage ? null : usage)
      this.#passAll([...repair.flush(), ...closing])
    }
    this.isDone = true
  }

  /** The upstream has ended its body; fails unless all choices were complete or `[DONE]` came before. */
  end (): void {
    if (this.failure !== null) return
    this.isDone = true
    const rest = this.#splitter.rest()
    // The last event may lack its empty line.
    if (rest.length > 0) this.#edit(Buffer.concat([rest, Buffer.from('\n\n')]))
    if (this.failure !== null || this.#editor.isDone) return
    const { repair } = this.#editor
    if (!repair.isComplete) {
      this.#passAll(repair.flush())
      return this.#fail(repair.hasAnswer
        ? 'The provider\'s stream ended before it was complete.'
        : 'The provider\'s stream has no answer.')
    }
    recordEnd(this.#report)
    this.#passAll([...repair.end(), doneEvent])
  }

  /** The connection has failed. */
  breakOff (error: unknown): void {
    this.#passAll(this.#editor.repair.flush())
    this.failure ??= error instanceof Error ? error : new Error(String(error))
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
    if (visible.length > 0) this.#pass(visible)
    this.failure = this.#editor.failure
    if (this.#editor.isDone) {
      this.isDone = true
      // What was too much came after the end.
      this.isCut = false
      return recordEnd(this.#report)
    }
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

function isAllComments (piece: Buffer): boolean {
  return eventsIn(piece).next().done === true
}
