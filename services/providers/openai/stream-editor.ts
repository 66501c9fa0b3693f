import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { doneEvent, eventsIn } from '../../upstream/sse.ts'
import { errorFromFields } from '../error-body.ts'
import { eventObjects } from './event-objects.ts'
import { KnownEvents } from './known-events.ts'
import type { OutputGuard } from './output-guard.ts'
import { isAt, type PieceScan } from './piece-scan.ts'
import { StreamRepair, type StreamForm } from './stream-repair.ts'
import { countReasoning, readDialectUsage, upstreamErrorIn } from './translate.ts'
import { recordUsage, statedName, usageIn, type StreamReport, type Usage } from '../report.ts'

export interface RelayOptions extends StreamForm {
  /** Ends the stream where it is longer than what is held; absent or null: the server keeps to the limit. */
  guard?: StreamGuard | null
  /** How long a client may go without an event while the provider only sends comments. */
  quietMs?: number | undefined
}

/** A guard of one stream, and the estimate of what it has used until it was ended. */
export interface StreamGuard {
  output: OutputGuard
  estimate (report: StreamReport): Promise<Usage>
}

const space = 0x20
const comma = 0x2c
const lineFeed = 0x0a
const dataPrefix = Buffer.from('data:')

/** Edits pieces of whole events for the client, and reads model, usage and errors from them. */
export class StreamEditor {
  failure: UpstreamError | null = null
  /** Whether `[DONE]` has come; what follows it is left out. */
  isDone = false
  /** The end of the last event of the piece that has usage: it covers the text before; 0: there is none. */
  countedTo = 0
  readonly repair: StreamRepair
  /** The events that need no more than what was done to one like them. */
  readonly known = new KnownEvents()
  readonly #report: StreamReport
  readonly #form: StreamForm

  constructor (report: StreamReport, form: StreamForm) {
    this.#report = report
    this.#form = form
    this.repair = new StreamRepair(form, report.finishReasons)
  }

  /** The piece as the client may see it; empty when it may see nothing of it. */
  edit (piece: Buffer, found: PieceScan): Buffer {
    this.countedTo = 0
    const kept: Buffer[] = []
    for (const event of eventBytesIn(piece)) {
      const start = event.byteOffset - piece.byteOffset
      kept.push(...this.#editEvent(piece, start, start + event.length, found))
      if (this.failure !== null || this.isDone) break
    }
    if (this.#form.hideUsage) blankMembers(piece, found.nullUsages)
    return kept.length === 1 && kept[0] !== undefined ? kept[0] : Buffer.concat(kept)
  }

  #editEvent (piece: Buffer, start: number, end: number, found: PieceScan): Buffer[] {
    const bytes = piece.subarray(start, end)
    const [event] = eventsIn(bytes)
    if (event === undefined) return []
    const read = eventObjects(event.data)
    if (read === null) {
      this.failure = event.event === 'error'
        ? errorFromFields(event.data, 200, this.#form.secret)
        : new UpstreamError('bad_reply', 'yes', 'The provider sent an event that is not a JSON object.')
      return this.repair.flush()
    }
    const { objects, isEnd } = read
    const isChunk = objects.length === 1 && !isEnd
    const visible: Buffer[] = []
    for (const object of objects) {
      const body = event.event === 'error' ? { error: object, ...object } : object
      visible.push(...this.#editBody(body, isChunk ? bytes : null, end))
      if (this.failure !== null) return visible
    }
    if (isEnd) return [...visible, ...this.#end()]
    const [edited, more] = visible
    if (isChunk && edited !== undefined && more === undefined && this.repair.isRepeatable && found.isPlain) {
      const seen = edited === bytes ? this.#blanked(bytes, start, found) : edited
      this.known.learn(piece, start, end, found, seen)
    }
    return visible
  }

  /** An event of a piece as the client sees it if the gateway has to hide usage; null: as it is. */
  #blanked (bytes: Buffer, start: number, { nullUsages }: PieceScan): Buffer | null {
    const places = nullUsages.map(place => place - start).filter(place => place > 0 && place < bytes.length)
    if (!this.#form.hideUsage || places.length === 0) return null
    const copy = Buffer.from(bytes)
    blankMembers(copy, places)
    return copy
  }

  /** `bytes`: the event, if it has nothing else; `end`: where it ends in its piece. */
  #editBody (body: JsonObject, bytes: Buffer | null, end: number): Buffer[] {
    this.failure = upstreamErrorIn(body, this.#form)
    if (this.failure !== null) return this.repair.flush()
    this.#report.model ??= statedName(body.model)
    this.#report.id ??= statedName(body.id)
    if (isText(body.service_tier)) this.#report.serviceTier = body.service_tier
    if (usageIn(body, this.#form.dialect.usagePath) !== null) this.#report.hasUsage = true
    this.#takeUsage(body, end)
    this.#takeObjects(body)
    const counted = countReasoning(body, this.#form.dialect)
    const isSame = counted === body && bytes !== null && isPlain(bytes)
    const visible = this.repair.take(counted, isSame ? bytes : null)
    if (this.repair.isTurn) this.known.clear()
    return visible
  }

  #end (): Buffer[] {
    this.isDone = true
    if (this.repair.hasAnswer) return [...this.repair.end(), doneEvent]
    this.failure = new UpstreamError('bad_reply', 'yes', 'The provider\'s stream has no answer.')
    return []
  }

  /** Some servers send usage with every chunk; that with the finish reason or without choices is the last. */
  #takeUsage (body: JsonObject, end: number): void {
    const usage = readDialectUsage(body, this.#form.dialect)
    if (usage === null) return
    const choices = Array.isArray(body.choices) ? body.choices : []
    const isLast = choices.length === 0 || choices.some(choice => isText(choice?.finish_reason))
    // A server that does not count yet says zero; at the end, zero is what it charges.
    if (!isLast && usage.prompt === 0) return
    recordUsage(this.#report, usage, !isLast)
    if (isLast || usage.completion > 0) this.countedTo = end
  }

  /** Notes arguments that are objects, which are no texts that a scan finds. */
  #takeObjects ({ choices }: JsonObject): void {
    for (const choice of Array.isArray(choices) ? choices : []) {
      for (const call of [choice?.delta?.tool_calls].flat()) {
        const value: unknown = call?.function?.arguments
        if (isObject(value)) this.#report.delivered.takeText(JSON.stringify(value))
      }
    }
  }
}

/** Whether an event is one line of data and nothing else, as OpenAI's are. */
function isPlain (bytes: Buffer): boolean {
  return isAt(bytes, 0, dataPrefix) && bytes.indexOf(lineFeed) === bytes.length - 2
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
