import { UpstreamError } from '../../shared/errors.ts'
import { isObject, type JsonObject } from '../../shared/json.ts'
import { doneEvent, encodeEvent, EventSplitter, eventsIn } from '../../upstream/sse.ts'
import { blankMember } from './blank-member.ts'
import type { Dialect } from './dialects.ts'
import { upstreamErrorIn } from './answer.ts'
import { marksOf, translateAnswer } from './translate.ts'
import { usageIn, withReasoning } from './usage.ts'
import type { EventSink, EventStream, StreamReport } from '../provider.ts'
import { PieceScan } from './piece-scan.ts'
import type { Exchange } from '../../upstream/exchange.ts'

interface RelayOptions {
  dialect: Dialect
  /** The client did not ask for usage: it must not see that the gateway did. */
  hideUsage: boolean
}

/** How much of the end of a stream is kept to see whether it ended properly. */
const tailPieces = 8
/** Most bytes of comments between two events: enough for an hour of keep-alives, not for a flood of them. */
const maxCommentBytes = 256 * 1024

/**
 * Relays an upstream's event stream as bytes. Pieces pass untouched unless they carry usage to hide, a finish
 * reason to translate or an error. Ends with `[DONE]` exactly when the upstream came to an end; throws
 * UpstreamError when it broke off or reported an error. An iterator written out, because generators within
 * generators cost more than all that is done here; pouring does without a promise per piece.
 */
export function relayStream (
  exchange: Exchange, report: StreamReport, options: RelayOptions
): RelayedStream {
  const chunks = exchange[Symbol.asyncIterator]()
  const relay = new Relay(report, options)

  function pass (chunk: IteratorResult<Buffer>): Result | Promise<Result> {
    if (chunk.done === true) relay.end()
    else relay.push(chunk.value)
    if (relay.isDone) exchange.finish()
    return next()
  }

  function next (): Result | Promise<Result> {
    const ready = relay.next()
    if (ready !== undefined) return ready
    if (relay.failure === null) return relay.isDone ? ended : chunks.next().then(pass)
    exchange.cancel()
    throw relay.failure
  }

  return {
    next: async () => next(),
    async return () {
      if (!relay.isDone) exchange.cancel()
      return ended
    },
    pipeTo: sink => pipe(exchange, relay, sink),
    [Symbol.asyncIterator] () { return this }
  }
}

type RelayedStream = AsyncIterableIterator<Buffer, undefined> & EventStream

function pipe (exchange: Exchange, relay: Relay, sink: EventSink): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()

  /** Passes on what is ready; returns whether more may come. */
  function forward (): boolean {
    let isFree = true
    for (let piece = relay.take(); piece !== undefined; piece = relay.take()) isFree = sink.write(piece)
    if (relay.failure !== null) {
      reject(relay.failure)
      exchange.cancel()
    } else if (relay.isDone) {
      resolve()
      exchange.finish()
    } else if (!isFree) {
      sink.drained().then(() => exchange.resume(), reject)
    }
    return isFree
  }

  forward()
  if (relay.failure === null && !relay.isDone) {
    exchange.pipeTo({
      chunk (bytes) {
        relay.push(bytes)
        return forward()
      },
      end () {
        relay.end()
        forward()
      },
      fail: reject
    })
  }
  return promise
}

type Result = IteratorResult<Buffer, undefined>

const ended: Result = { done: true, value: undefined }

/** The state of one relayed stream: takes chunks, gives pieces that the client may see. */
class Relay {
  /** Whether nothing more is to be read. */
  isDone = false
  /** Why there will be no more pieces than those that are ready. */
  failure: UpstreamError | null = null
  readonly #splitter = new EventSplitter()
  readonly #report: StreamReport
  readonly #editor: StreamEditor
  readonly #scan = new PieceScan()
  readonly #tail: Buffer[] = []
  readonly #ready: Buffer[] = []
  #commentBytes = 0

  constructor (report: StreamReport, options: RelayOptions) {
    this.#report = report
    this.#editor = new StreamEditor(report, options)
  }

  /** The next piece, undefined when there is none yet. */
  take (): Buffer | undefined {
    return this.#ready.shift()
  }

  /** The same as an iterator gives it. */
  next (): Result | undefined {
    const value = this.take()
    return value === undefined ? undefined : { done: false, value }
  }

  push (chunk: Buffer): void {
    const piece = this.#split(chunk)
    if (piece === null) return
    this.#commentBytes = piece[0] === colon && isAllComments(piece) ? this.#commentBytes + piece.length : 0
    if (this.#commentBytes > maxCommentBytes) return this.#fail('The provider sent nothing but comments.')
    this.#take(piece)
    this.isDone = endsWithDone(piece)
    this.#tail.push(piece)
    if (this.#tail.length > tailPieces) this.#tail.shift()
  }

  /** To be called when the upstream has closed a stream that it had not declared done. */
  end (): void {
    this.isDone = true
    const rest = this.#splitter.rest()
    // A last event without its empty line is an event all the same.
    if (rest.length > 0) this.#take(Buffer.concat([rest, Buffer.from('\n\n')]))
    const end = Buffer.concat([...this.#tail, rest]).toString()
    if (this.failure !== null || /^data: ?\[DONE\]/m.test(end)) return
    if (/"finish_reason":\s*"/.test(end)) this.#ready.push(doneEvent)
    else this.#fail('The provider\'s stream broke off before it was complete.')
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

  #take (piece: Buffer): void {
    this.#scan.scan(piece)
    const visible = this.#editor.edit(piece, this.#scan)
    if (this.#report.usage === null) this.#report.delivered.take(piece, this.#scan.texts)
    if (visible.length > 0) this.#ready.push(visible)
    this.failure = this.#editor.failure
  }

  #fail (message: string): void {
    this.failure = new UpstreamError('bad_reply', 'yes', message)
  }
}

/**
 * `data: [DONE]` and an empty line: a JSON event ends with a brace instead, so one byte decides nearly
 * always.
 */
function endsWithDone (piece: Buffer): boolean {
  return piece[piece.length - 3] === 0x5d && piece.subarray(-16).includes('[DONE]\n\n')
}

function isAllComments (piece: Buffer): boolean {
  return eventsIn(piece).next().done === true
}

const colon = 0x3a
const startOfData = 0x64 // the `d` of `data:`; a piece that starts otherwise has comments or named events

/**
 * Turns pieces of whole events into what the client may see of them, and reads what the gateway has to know.
 */
class StreamEditor {
  failure: UpstreamError | null = null
  readonly #report: StreamReport
  readonly #dialect: Dialect
  readonly #hideUsage: boolean
  readonly #marks: readonly Buffer[]

  constructor (report: StreamReport, { dialect, hideUsage }: RelayOptions) {
    this.#report = report
    this.#dialect = dialect
    this.#hideUsage = hideUsage
    this.#marks = marksOf(dialect)
  }

  edit (piece: Buffer, found: PieceScan): Buffer {
    if (this.#hideUsage) hideNullUsage(piece, found.nullUsages)
    const mustRead = found.hasUsage || found.hasError || this.#report.model === null ||
      piece[0] !== startOfData || this.#marks.some(mark => piece.includes(mark))
    return mustRead ? this.#editEvents(piece) : piece
  }

  /** Reads each event of the piece: the first one and the few that matter. */
  #editEvents (piece: Buffer): Buffer {
    const kept: Buffer[] = []
    for (const block of blocksIn(piece)) {
      const visible = this.#editBlock(block)
      if (this.failure !== null) break
      if (visible !== null) kept.push(visible)
    }
    return kept.length === 1 && kept[0] !== undefined ? kept[0] : Buffer.concat(kept)
  }

  /** One event's bytes as the client may see them, null when it must not. */
  #editBlock (block: Buffer): Buffer | null {
    const [event] = eventsIn(block)
    if (event === undefined || event.data === '[DONE]') return block
    const body = parseObject(event.data)
    this.failure = body === null
      ? new UpstreamError('bad_reply', 'yes', 'The provider sent an event that is not a JSON object.')
      : upstreamErrorIn(event.event === 'error' ? { error: body, ...body } : body, this.#dialect)
    if (body === null || this.failure !== null) return null
    if (typeof body.model === 'string' && body.model !== '') this.#report.model ??= body.model
    this.#report.usage = usageIn(body, this.#dialect) ?? this.#report.usage
    const edited = this.#editBody(body)
    return edited === body ? block : edited === null ? null : encodeEvent(edited)
  }

  /**
   * The same object when nothing has to change, a new one when it has, null when the client must not see it.
   */
  #editBody (body: JsonObject): JsonObject | null {
    let edited = body
    const choices = Array.isArray(body.choices) ? body.choices : []
    if (this.#hideUsage && body.usage !== undefined && body.usage !== null) {
      if (choices.length === 0) return null
      const { usage: _, ...others } = body
      edited = others
    }
    return translateAnswer(withReasoning(edited, this.#dialect), this.#dialect)
  }
}

/** Takes out what the client has not asked for; `places` are those of whole members. */
function hideNullUsage (piece: Buffer, places: readonly number[]): void {
  for (let index = 0; index < places.length; index += 2) {
    blankMember(piece, places[index] ?? 0, places[index + 1] ?? 0)
  }
}

function * blocksIn (piece: Buffer): Generator<Buffer> {
  let start = 0
  for (let end = piece.indexOf('\n\n'); end !== -1; end = piece.indexOf('\n\n', start)) {
    yield piece.subarray(start, end + 2)
    start = end + 2
  }
}

function parseObject (data: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(data)
    return isObject(value) ? value : null
  } catch {
    return null // Reported by the caller as a bad reply.
  }
}
