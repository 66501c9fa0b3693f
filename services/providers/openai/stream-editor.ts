import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { doneEvent, type ReadEvent } from '../upstream/sse.ts'
import { errorFromFields } from '../error-body.ts'
import { generatedIn, recordGenerated } from '../generated-text.ts'
import { eventObjects } from './event-objects.ts'
import type { OutputGuard } from './output-guard.ts'
import { StreamRepair, type StreamForm } from './stream-repair.ts'
import { chargedUsageIn, upstreamErrorIn, withUsage } from './translate.ts'
import { recordUsage, statedName, type StreamReport, type Usage } from '../report.ts'

export interface RelayOptions extends StreamForm {
  /** Ends the stream where it is longer than what is held; absent or null: the server keeps to the limit. */
  guard?: StreamGuard | null
}

/** A guard of one stream, and the estimate of what it has used until it was ended. */
export interface StreamGuard {
  output: OutputGuard
  estimate (report: StreamReport): Promise<Usage>
}

/** Edits events for the client, and reads model, text, usage and errors from them. */
export class StreamEditor {
  failure: UpstreamError | null = null
  /** Whether `[DONE]` has come; what follows it is left out. */
  isDone = false
  /** Whether the stream is longer than what is held: it is to be closed. */
  isCut = false
  readonly repair: StreamRepair
  readonly #report: StreamReport
  readonly #form: StreamForm
  readonly #guard: OutputGuard | null

  constructor (report: StreamReport, form: RelayOptions) {
    this.#report = report
    this.#form = form
    this.#guard = form.guard?.output ?? null
    this.repair = new StreamRepair(form, report.finishReasons)
  }

  /** Whether nothing may follow. */
  get isOver (): boolean {
    return this.isDone || this.isCut || this.failure !== null
  }

  /** What the client may see after an event; nothing when that is to be hidden or held. */
  edit (event: ReadEvent): Buffer[] {
    const read = eventObjects(event.data)
    if (read === null) {
      return this.#fail(event.event === 'error'
        ? errorFromFields(event.data, 200, this.#form.secret)
        : badReply('The provider sent an event that is not a JSON object.'))
    }
    const { objects, isEnd } = read
    const bytes = objects.length === 1 && !isEnd && event.isPlain ? event.bytes : null
    const visible: Buffer[] = []
    for (const object of objects) {
      visible.push(...this.#editBody(event.event === 'error' ? { error: object, ...object } : object, bytes))
      if (this.isOver) return visible
    }
    return isEnd ? [...visible, ...this.#end(event)] : visible
  }

  /** `bytes`: the event, if it has nothing else. */
  #editBody (body: JsonObject, bytes: Buffer | null): Buffer[] {
    const failure = upstreamErrorIn(body, this.#form)
    if (failure !== null) return this.#fail(failure)
    this.#report.model ??= statedName(body.model)
    this.#report.id ??= statedName(body.id)
    if (isText(body.service_tier)) this.#report.serviceTier = body.service_tier
    const counted = withUsage(body, this.#form.dialect, this.repair.usage)
    if (!this.#takeOutput(body, counted)) return []
    return this.repair.take(counted, counted === body ? bytes : null)
  }

  /** Records the text of a chunk, and its usage from `counted`; false if the text exceeds what is held. */
  #takeOutput (body: JsonObject, counted: JsonObject): boolean {
    const said = generatedIn(body.choices)
    if (this.#guard?.exceedsWith(said.text) === true) {
      this.isCut = true
      return false
    }
    this.#guard?.noteFinished(body.choices)
    // Usage that cannot be read was taken out.
    if (counted !== body || isObject(counted.usage)) this.#report.hasUsage = true
    const { usage, isLast } = this.#usageIn(counted)
    // A count covers the text that it comes with, but some servers say zero until they have counted.
    const isCovered = usage !== null && (isLast || usage.completion > 0)
    if (usage !== null && !isCovered) recordUsage(this.#report, usage, true)
    recordGenerated(this.#report, said)
    if (usage !== null && isCovered) recordUsage(this.#report, usage, !isLast)
    if (usage !== null && !isLast && this.#guard?.isExceededBy(usage) === true) this.isCut = true
    return true
  }

  /** Some servers send usage with every chunk; that with the finish reason or without choices is the last. */
  #usageIn (body: JsonObject): { usage: Usage | null, isLast: boolean } {
    const usage = chargedUsageIn(body, this.#form.dialect)
    if (usage === null) return { usage, isLast: false }
    const choices = Array.isArray(body.choices) ? body.choices : []
    const isLast = choices.length === 0 || choices.some(choice => isText(choice?.finish_reason))
    // A server that does not count yet says zero; at the end, zero is what it charges.
    return { usage: !isLast && usage.prompt === 0 ? null : usage, isLast }
  }

  #end ({ isUnderstood }: ReadEvent): Buffer[] {
    if (!this.repair.hasOutput) return this.#fail(badReply('The provider\'s stream has no answer.'))
    // Some servers send no finish reason; but a line that was not understood may say what is missing.
    if (!isUnderstood && !this.repair.isComplete) {
      return this.#fail(badReply('The provider\'s stream ended without a finish reason, after a line that is no event.'))
    }
    this.isDone = true
    return [...this.repair.end(), doneEvent]
  }

  /** Ends the stream by an error, after what was held. */
  #fail (error: UpstreamError): Buffer[] {
    this.failure = error
    return this.repair.flush()
  }
}

function badReply (message: string): UpstreamError {
  return new UpstreamError('bad_reply', 'yes', message)
}
