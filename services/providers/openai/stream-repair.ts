import { isObject, isText, withMembers, type JsonObject } from '../../shared/json.ts'
import { encodeEvent } from '../upstream/sse.ts'
import type { Dialect } from './dialects.ts'
import { indexOf, isBlank, OpenChoice, saysSomething } from './open-choice.ts'
import { choicesIn, headOf, maxChoices, wrongInResponse, type TextHead } from './translate.ts'

/** What a stream has to become. */
export interface StreamForm {
  dialect: Dialect
  /** The operator's key, which a provider may repeat in an error. */
  secret: string | null
  /** The client did not ask for usage and must not see that the gateway did. */
  hideUsage: boolean
  /** The head of chunks that have none. */
  fallback: TextHead
  /** How many choices the client asked for. */
  choices: number
  /** See `ProviderCall`. */
  thinkTags?: boolean | null | undefined
}

/** A chunk for the client; `bytes`: the event as it came, null if something in it was changed. */
interface Chunk { body: JsonObject, bytes: Buffer | null }

/**
 * Makes a stream of a compatible server one that OpenAI could have sent: one id; roles, indices and finish
 * reasons where they belong; usage, if it was asked for, in a chunk of its own at the end. Chunks that need
 * nothing pass as the bytes they came in.
 *
 * Some servers send a finish reason with every text, or after every tool call, so a chunk that has one and
 * may not be the last of its choice is held until the next event. Each choice is in one of three states:
 *
 *     open ──a finish reason──▶ held ──usage, another choice, the end──▶ finished
 *      ▲                          │                                          │
 *      └──more of the choice: the chunk is sent without its reason───────────┘
 */
export class StreamRepair {
  /** What all chunks have in common, once the first one has come. */
  head: TextHead | null = null
  readonly #form: StreamForm
  readonly #finishReasons: Map<number, string>
  readonly #choices = new Map<number, OpenChoice>()
  #held: Chunk | null = null
  /** Members of chunks without choices, for the next chunk that has some. */
  #extras: JsonObject = {}
  /** The latest chunk with usage, as one without choices. */
  #usage: Chunk | null = null
  #hasText = false

  /** `finishReasons` receives why each choice has ended, by its index. */
  constructor (form: StreamForm, finishReasons: Map<number, string>) {
    this.#form = form
    this.#finishReasons = finishReasons
  }

  /** Whether an answer has come: text, or the end of a choice. */
  get hasOutput (): boolean {
    return this.#hasText || this.#held !== null || this.#choices.values().some(({ isFinished }) => isFinished)
  }

  /** Whether all choices have ended, those that the client asked for and have not begun included. */
  get isComplete (): boolean {
    const last = this.#choicesIn(this.#held?.body ?? {})
    const held = last.filter(({ finish_reason: reason }) => reason !== null)
    const isOver = ([index, choice]: [number, OpenChoice]): boolean =>
      choice.isFinished || held.some(choice => choice.index === index)
    return this.#choices.size >= this.#form.choices && this.#choices.entries().every(isOver)
  }

  /** The latest token counts; null: none. */
  get usage (): JsonObject | null {
    return isObject(this.#usage?.body.usage) ? this.#usage.body.usage : null
  }

  /**
   * What the client may see after another event, whose body is from `withUsage`; `bytes`: the event, null if
   * its body was changed before.
   */
  take (body: JsonObject, bytes: Buffer | null): Buffer[] {
    const given = this.#choicesIn(body)
    const hasUsage = this.#takeUsage(body, given, bytes)
    if (given.length === 0) {
      if (hasUsage) return this.#release([])
      this.#keepExtras(body)
      return []
    }
    this.head ??= headOf(body, this.#form.fallback)
    const released = this.#release(given)
    if (given.every((choice, at) => this.#isOver(choice, indexOf(choice, at)))) return released
    const choices = given.map((choice, at) => this.#openChoice(indexOf(choice, at)).take(choice))
    this.#hasText ||= given.some(saysSomething)
    const edited = this.#withHead(body, given, choices)
    const chunk = { body: edited, bytes: edited === body ? bytes : null }
    if (choices.every(({ finish_reason: reason }) => reason === null)) return [...released, encoded(chunk)]
    this.#held = chunk
    const mayGoOn = given.some((choice, at) =>
      saysSomething(choice) || this.#choices.get(indexOf(choice, at))?.hasCalls === true)
    return mayGoOn ? released : [...released, ...this.#release([])]
  }

  /** The last chunks of a stream that is complete, without `[DONE]`. */
  end (): Buffer[] {
    const chunks = this.#release([])
    for (const [index, choice] of this.#choices) {
      if (!choice.isFinished) chunks.push(...this.#encodeChoices(this.#finish(index, choice, 'stop')))
    }
    if (this.#form.hideUsage || this.#usage === null) return chunks
    const { body, bytes } = this.#usage
    return [...chunks, bytes ?? encodeEvent({ ...body, ...this.head })]
  }

  /** What was held, for a stream that breaks off. */
  flush (): Buffer[] {
    return this.#release([])
  }

  /** The choices of a chunk; new ones only as long as a client can have asked for them. */
  #choicesIn (body: JsonObject): JsonObject[] {
    const given = choicesIn(body, this.#form.choices)
    const room = Math.max(this.#form.choices, maxChoices) - this.#choices.size
    if (given.length <= room) return given
    let added = 0
    return given.filter((choice, at) => this.#choices.has(indexOf(choice, at)) || ++added <= room)
  }

  #openChoice (index: number): OpenChoice {
    const { dialect, fallback, thinkTags } = this.#form
    const choice = this.#choices.get(index) ?? new OpenChoice(index, dialect, fallback, thinkTags)
    this.#choices.set(index, choice)
    return choice
  }

  /** Whether a choice has ended and gets nothing more: some servers send its finish reason twice. */
  #isOver (choice: JsonObject, index: number): boolean {
    return this.#choices.get(index)?.isFinished === true && isBlank(choice)
  }

  /** Azure's first chunk has what its filters say of the prompt. Other events than chunks are pings. */
  #keepExtras (body: JsonObject): void {
    const { id: _, object: __, created: ___, model: ____, choices, usage: _____, ...extras } = body
    if (Array.isArray(choices)) Object.assign(this.#extras, extras)
  }

  /** Notes the usage of a chunk; whether it has any. */
  #takeUsage (body: JsonObject, given: readonly JsonObject[], bytes: Buffer | null): boolean {
    const { usage } = body
    if (!isObject(usage)) return false
    const own = given.length === 0 ? body : {}
    const chunk = withMembers(own, { ...headOf(own, this.head ?? this.#form.fallback), usage })
    const isChunk = Array.isArray(own.choices)
    const isWhole = chunk === body && isChunk && body.id === this.head?.id
    this.#usage = {
      body: isChunk ? chunk : { ...withMembers(chunk, { usage: undefined }), choices: [], usage },
      bytes: isWhole ? bytes : null
    }
    return true
  }

  /** The chunk with the head of the stream and its repaired choices; the same object if nothing changes. */
  #withHead (body: JsonObject, given: readonly JsonObject[], choices: readonly JsonObject[]): JsonObject {
    const head = this.head ?? this.#form.fallback
    const isSame = choices.every((choice, at) => choice === given[at]) && Array.isArray(body.choices) &&
      body.choices.length === choices.length
    const edited = withMembers(body, {
      ...wrongInResponse(body),
      ...headOf(body, head),
      id: head.id,
      ...(isSame ? {} : { choices }),
      ...(body.usage === undefined ? {} : { usage: null }),
      ...this.#extras
    })
    this.#extras = {}
    if (!this.#form.hideUsage || !('usage' in edited)) return edited
    const { usage: _, ...visible } = edited
    return visible
  }

  /** The chunk that was held. Its finish reasons are taken out where the `next` choices go on. */
  #release (next: readonly JsonObject[]): Buffer[] {
    const held = this.#held
    if (held === null) return []
    this.#held = null
    const after: JsonObject[] = []
    const before = this.#choicesIn(held.body)
    const choices = before.map(choice => {
      const index = indexOf(choice, 0)
      const state = this.#choices.get(index)
      if (state === undefined || !isText(choice.finish_reason)) return choice
      const later = next.find((one, at) => indexOf(one, at) === index)
      const goesOn = later !== undefined && (saysSomething(later) || isText(later.finish_reason))
      const closing = goesOn ? [] : this.#finish(index, state, choice.finish_reason)
      if (closing.length === 1) return withMembers(choice, { finish_reason: closing[0]?.finish_reason })
      after.push(...closing)
      return { ...choice, finish_reason: null }
    })
    const isSame = choices.every((choice, at) => choice === before[at])
    const visible = isSame ? held : { body: { ...held.body, choices }, bytes: null }
    return [encoded(visible), ...this.#encodeChoices(after)]
  }

  /** Ends a choice. Returns the choices of the chunks that end it: what its calls lack, and its reason. */
  #finish (index: number, choice: OpenChoice, given: string): JsonObject[] {
    const { reason, choices } = choice.finish(given)
    this.#finishReasons.set(index, reason)
    return choices
  }

  /** A chunk for each choice. */
  #encodeChoices (choices: readonly JsonObject[]): Buffer[] {
    return choices.map(choice => encodeEvent({ ...this.head, choices: [choice] }))
  }
}

function encoded ({ body, bytes }: Chunk): Buffer {
  return bytes ?? encodeEvent(body)
}
