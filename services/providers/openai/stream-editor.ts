import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { encodeEvent, eventsIn } from '../../upstream/sse.ts'
import type { Dialect } from './dialects.ts'
import { isChunk, type OutputGuard } from './output-guard.ts'
import type { PieceScan } from './piece-scan.ts'
import { translationMarks, translateAnswer, upstreamErrorIn, readDialectUsage, countReasoning } from './translate.ts'
import { recordUsage, type StreamReport, type Usage } from '../report.ts'

export interface RelayOptions {
  dialect: Dialect
  /** The client did not ask for usage and must not see that the gateway did. */
  hideUsage: boolean
  /** Ends the stream where it is longer than what is held; absent or null: the server keeps to the limit. */
  guard?: StreamGuard | null
}

/** A guard of one stream, and the estimate of what it has used until it was ended. */
export interface StreamGuard {
  output: OutputGuard
  /** What a chunk says that it is, where the server leaves that out. */
  object: 'chat.completion.chunk' | 'text_completion'
  estimate (report: StreamReport): Promise<Usage>
}

const space = 0x20
const comma = 0x2c
/** The `d` of `data:`. A piece that starts otherwise holds comments or named events. */
const startOfData = 0x64

/** Edits pieces of whole events for the client, and reads model, usage and errors from them. */
export class StreamEditor {
  failure: UpstreamError | null = null
  /** The end of the last event of the piece that has usage: it covers the text before; 0: there is none. */
  countedTo = 0
  /** The first chunk, from which the gateway makes the last ones of a stream that it ends. */
  head: JsonObject | null = null
  readonly #report: StreamReport
  readonly #dialect: Dialect
  readonly #hideUsage: boolean
  readonly #marks: readonly Buffer[]

  constructor (report: StreamReport, { dialect, hideUsage }: RelayOptions) {
    this.#report = report
    this.#dialect = dialect
    this.#hideUsage = hideUsage
    this.#marks = translationMarks(dialect)
  }

  /** The piece as the client may see it; empty when it may see nothing of it. */
  edit (piece: Buffer, found: PieceScan): Buffer {
    this.countedTo = 0
    if (this.#hideUsage) blankMembers(piece, found.nullUsages)
    const mustParse = found.hasUsage || found.hasError || this.#report.model === null ||
      piece[0] !== startOfData || this.#marks.some(mark => piece.includes(mark))
    return mustParse ? this.#editEvents(piece) : piece
  }

  #editEvents (piece: Buffer): Buffer {
    const kept: Buffer[] = []
    for (const event of eventBytesIn(piece)) {
      const visible = this.#editEvent(event, event.byteOffset - piece.byteOffset + event.length)
      if (this.failure !== null) break
      if (visible !== null) kept.push(visible)
    }
    return kept.length === 1 && kept[0] !== undefined ? kept[0] : Buffer.concat(kept)
  }

  #editEvent (bytes: Buffer, end: number): Buffer | null {
    const [event] = eventsIn(bytes)
    if (event === undefined || event.data === '[DONE]') return bytes
    const body = parseObject(event.data)
    this.failure = body === null
      ? new UpstreamError('bad_reply', 'yes', 'The provider sent an event that is not a JSON object.')
      : upstreamErrorIn(event.event === 'error' ? { error: body, ...body } : body, this.#dialect)
    if (body === null || this.failure !== null) return null
    if (isText(body.model)) this.#report.model ??= body.model
    if (this.head === null && isChunk(body)) this.head = body
    if (isText(body.service_tier)) this.#report.serviceTier = body.service_tier
    this.#takeUsage(body, end)
    const edited = this.#editBody(body)
    return edited === body ? bytes : edited === null ? null : encodeEvent(edited)
  }

  /** Some servers send usage with every chunk; that with the finish reason or without choices is the last. */
  #takeUsage (body: JsonObject, end: number): void {
    const usage = readDialectUsage(body, this.#dialect)
    if (usage === null) return
    const choices = Array.isArray(body.choices) ? body.choices : []
    const isLast = choices.length === 0 || choices.some(choice => isText(choice?.finish_reason))
    // A server that does not count yet says zero; at the end, zero is what it charges.
    if (!isLast && usage.prompt === 0) return
    recordUsage(this.#report, usage, !isLast)
    this.countedTo = end
  }

  /** The same object when nothing has to change; null when the client must not see it. */
  #editBody (body: JsonObject): JsonObject | null {
    let edited = body
    const choices = Array.isArray(body.choices) ? body.choices : []
    if (this.#hideUsage && body.usage !== undefined && body.usage !== null) {
      if (choices.length === 0) return null
      const { usage: _, ...others } = body
      edited = others
    }
    return translateAnswer(countReasoning(edited, this.#dialect), this.#dialect)
  }
}

/** Overwrites members and a comma beside each with spaces; `places`: each start and exclusive end. */
function blankMembers (piece: Buffer, places: readonly number[]): void {
  for (let index = 0; index < places.length; index += 2) {
    const [start = 0, end = 0] = [places[index], places[index + 1]]
    let before = start - 1
    while (piece[before] === space) before--
    if (piece[before] === comma) {
      piece.fill(space, before, end)
      continue
    }
    let after = end
    while (piece[after] === space) after++
    piece.fill(space, start, piece[after] === comma ? after + 1 : end)
  }
}

function * eventBytesIn (piece: Buffer): Generator<Buffer> {
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
