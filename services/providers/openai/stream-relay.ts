import { UpstreamError } from '../../shared/errors.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { doneEvent, EventParser, type ReadEvent } from '../upstream/sse.ts'
import type { EventSink } from '../provider.ts'
import { recordEnd, recordUsage, type StreamReport } from '../report.ts'
import { StreamEditor, type RelayOptions, type StreamGuard } from './stream-editor.ts'
import type { StreamForm } from './stream-repair.ts'

/** Most bytes of comments between two events: an hour of keep-alives passes, a flood does not. */
const maxCommentBytes = 256 * 1024

/** The state of one relayed stream: takes chunks, gives pieces that the client may see. */
export class StreamRelay {
  isDone = false
  /** Whether the stream is longer than what is held: it is to be closed. */
  isCut = false
  /** Why no pieces follow. */
  failure: Error | null = null
  /** Whether the sink takes more. */
  isFree = true
  readonly #parser = new EventParser()
  readonly #report: StreamReport
  readonly #editor: StreamEditor
  readonly #guard: StreamGuard | null
  readonly #form: StreamForm
  /** The pieces for the client until there is a sink. */
  #ready: Buffer[] = []
  #sink: EventSink | null = null
  #commentBytes = 0

  constructor (report: StreamReport, options: RelayOptions) {
    this.#report = report
    this.#editor = new StreamEditor(report, options)
    this.#guard = options.guard ?? null
    this.#form = options
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
    if (this.isDone || this.isCut || this.failure !== null) return
    try {
      const { events, piece } = this.#parser.push(chunk)
      if (events.length > 0) this.#edit(events)
      else this.#commentBytes += piece.length
      if (this.#commentBytes > maxCommentBytes) this.#fail('The provider sent only comments.')
    } catch (error) {
      // An event without end.
      if (!(error instanceof UpstreamError)) throw error
      this.failure = error
    }
  }

  #pass (piece: Buffer): void {
    if (this.#sink === null) this.#ready.push(piece)
    else this.isFree = this.#sink.write(piece)
  }

  #passAll (pieces: readonly Buffer[]): void {
    for (const piece of pieces) this.#pass(piece)
  }

  /** Ends the call, and the stream as a server does that has reached its limit. */
  async close (response: UpstreamResponse): Promise<void> {
    response.cancel()
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
    this.#edit(this.#parser.end().events)
    if (this.#editor.isOver) return
    this.isDone = true
    const { repair } = this.#editor
    if (!repair.isComplete) {
      this.#passAll(repair.flush())
      return this.#fail(repair.hasOutput
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

  #edit (events: readonly ReadEvent[]): void {
    const visible: Buffer[] = []
    for (const event of events) {
      visible.push(...this.#editor.edit(event))
      if (this.#editor.isOver) break
    }
    this.#commentBytes = 0
    const [first, ...more] = visible
    if (first !== undefined) this.#pass(more.length === 0 ? first : Buffer.concat(visible))
    const { failure, isDone, isCut } = this.#editor
    this.failure = failure
    this.isCut = isCut
    this.isDone = isDone
    if (isDone) recordEnd(this.#report)
  }

  #fail (message: string): void {
    this.failure = new UpstreamError('bad_reply', 'yes', message)
  }
}
