import { isObject, isText, withMembers, type JsonObject } from '../../shared/json.ts'
import { encodeEvent } from '../upstream/sse.ts'
import { usageIn } from '../report.ts'
import type { Dialect } from './dialects.ts'
import { ToolCallStream } from './tool-calls.ts'
import {
  choicesIn, finalReason, finishReasonOf, headOf, maxChoices, repairMessage, wholeUsage, wrongInResponse,
  wrongInChoice, type CompletionHead
} from './translate.ts'

/** What a stream has to become. */
export interface StreamForm {
  dialect: Dialect
  /** The operator's key, which a provider may repeat in an error. */
  secret: string | null
  /** The client did not ask for usage and must not see that the gateway did. */
  hideUsage: boolean
  /** The head of chunks that have none. */
  fallback: CompletionHead
  /** How many choices the client asked for. */
  choices: number
}

/** One choice of the stream, as far as it has come. */
interface OpenChoice {
  calls: ToolCallStream
  hasFunctionCall: boolean
  /** Whether its finish reason was sent. */
  isFinished: boolean
}

/**
 * Makes a stream of a compatible server one that OpenAI could have sent: one id; roles, indices and finish
 * reasons where they belong; usage, if it was asked for, in a chunk of its own at the end. Chunks that need
 * nothing pass as the bytes they came in.
 */
export class StreamRepair {
  /** What all chunks have in common, once the first one has come. */
  head: CompletionHead | null = null
  readonly #form: StreamForm
  readonly #finishReasons: Map<number, string>
  readonly #isLegacy: boolean
  readonly #choices = new Map<number, OpenChoice>()
  /**
   * A chunk with a finish reason, if the next one may go on with its choice: some servers send a reason with
   * every text, or after every tool call.
   */
  #held: { body: JsonObject, bytes: Buffer | null } | null = null
  /** Members of chunks without choices, for the next chunk that has some. */
  #extras: JsonObject = {}
  /** The latest chunk with usage, as one without choices. */
  #usage: { body: JsonObject, bytes: Buffer | null } | null = null
  #hasText = false

  /** `finishReasons` receives why each choice has ended, by its index. */
  constructor (form: StreamForm, finishReasons: Map<number, string>) {
    this.#form = form
    this.#finishReasons = finishReasons
    this.#isLegacy = form.fallback.object === 'text_completion'
  }

  /** Whether an answer has come: text, or the end of a choice. */
  get hasAnswer (): boolean {
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

  /** What the client may see after another event; `bytes`: the event, null if its body was changed before. */
  take (body: JsonObject, bytes: Buffer | null): Buffer[] {
    if (bytes !== null && this.#goesOn(body)) {
      const isHidden = this.#form.hideUsage && body.usage === null
      return [isHidden ? encodeEvent({ ...body, usage: undefined }) : bytes]
    }
    const given = this.#choicesIn(body)
    const usage = this.#takeUsage(body, given, bytes)
    if (given.length === 0) {
      if (usage) return this.#release([])
      const { id: _, object: __, created: ___, model: ____, choices, usage: _____, ...extras } = body
      // Azure's first chunk has what its filters say of the prompt. Other events than chunks are pings.
      if (Array.isArray(choices)) Object.assign(this.#extras, extras)
      return []
    }
    this.head ??= headOf(body, this.#form.fallback)
    const released = this.#release(given)
    if (given.every((choice, at) => this.#isOver(choice, indexOf(choice, at)))) return released
    const choices = given.map((choice, at) => this.#choice(choice, indexOf(choice, at)))
    const edited = this.#withHead(body, given, choices)
    const isEdited = edited !== body || bytes === null
    const visible = { body: edited, bytes: isEdited ? null : bytes }
    if (choices.some(({ finish_reason: reason }) => reason !== null)) {
      this.#held = visible
      const mayGoOn = given.some((choice, at) => saysSomething(choice) || this.#hasCalls(indexOf(choice, at)))
      return mayGoOn ? released : [...released, ...this.#release([])]
    }
    return [...released, encoded(visible)]
  }

  /** Whether a chunk has only more text of a choice, as nearly all do; nothing in it needs repair. */
  #goesOn (body: JsonObject): boolean {
    const { head } = this
    const { id, object, created, model, choices, usage } = body
    if (head === null || this.#held !== null || usage != null) return false
    if (id !== head.id || object !== head.object) return false
    if (created !== head.created || model !== head.model) return false
    if (!Array.isArray(choices) || choices.length !== 1) return false
    const [choice] = choices
    if (!isObject(choice) || choice.finish_reason !== null || !isObject(choice.delta)) return false
    const { index, delta } = choice
    for (const name in choice) if (!usualInChoice.has(name) && choice[name] !== null) return false
    if (typeof index !== 'number' || this.#choices.get(index)?.isFinished !== false || !this.#hasText) return false
    for (const name in delta) if (name !== 'content' || !isText(delta.content)) return false
    return Object.keys(this.#extras).length === 0 && isSound(body)
  }

  /** The last chunks of a stream that is complete, without `[DONE]`. */
  end (): Buffer[] {
    const chunks = this.#release([])
    for (const [index, choice] of this.#choices) {
      if (!choice.isFinished) chunks.push(...this.#closing(index, choice, 'stop').map(encodeEvent))
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

  /** Whether a choice has ended and gets nothing more: some servers send its finish reason twice. */
  #isOver (choice: JsonObject, index: number): boolean {
    return this.#choices.get(index)?.isFinished === true && isBlank(choice)
  }

  #hasCalls (index: number): boolean {
    return (this.#choices.get(index)?.calls.count ?? 0) > 0
  }

  /** Notes the usage of a chunk; whether it has any. */
  #takeUsage (body: JsonObject, given: readonly JsonObject[], bytes: Buffer | null): boolean {
    const found = usageIn(body, this.#form.dialect.usagePath)
    if (found === null) return false
    const usage = wholeUsage(found)
    if (usage === undefined) return false
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

  #withHead (body: JsonObject, given: readonly JsonObject[], choices: readonly JsonObject[]): JsonObject {
    const head = this.head ?? this.#form.fallback
    const { hideUsage } = this.#form
    const isSame = choices.every((choice, at) => choice === given[at]) && Array.isArray(body.choices) &&
      body.choices.length === choices.length
    const hasUsage = body.usage !== undefined && body.usage !== null
    const edited = withMembers(body, {
      ...wrongInResponse(body),
      ...headOf(body, head),
      id: head.id,
      ...(isSame ? {} : { choices }),
      ...(hideUsage && 'usage' in body ? { usage: undefined } : hasUsage ? { usage: null } : {}),
      ...this.#extras
    })
    this.#extras = {}
    return edited
  }

  #choice (choice: JsonObject, index: number): JsonObject {
    const isFirst = !this.#choices.has(index)
    const state = this.#choices.get(index) ??
      { calls: new ToolCallStream(), hasFunctionCall: false, isFinished: false }
    this.#choices.set(index, state)
    if (saysSomething(choice)) {
      this.#hasText = true
      state.isFinished = false
    }
    const reason = state.isFinished ? null : finishReasonOf(choice, this.#form.dialect)
    if (this.#isLegacy) {
      const text = typeof choice.text === 'string' ? choice.text : contentOf(choice)
      return withMembers(choice, { ...wrongInChoice(choice), index, text, finish_reason: reason })
    }
    const delta = this.#delta(partOf(choice) ?? {}, state, isFirst)
    const members = { ...wrongInChoice(choice), index, delta, finish_reason: reason, usage: undefined }
    return withMembers(choice, isObject(choice.delta) ? members : { ...members, message: undefined })
  }

  #delta (given: JsonObject, state: OpenChoice, isFirst: boolean): JsonObject {
    const delta = repairMessage(given)
    const { tool_calls: pieces, function_call: call } = delta
    state.hasFunctionCall ||= isObject(call)
    const changes: JsonObject = { role: isFirst ? 'assistant' : undefined }
    if (Array.isArray(pieces) && pieces.length > 0) {
      changes.tool_calls = state.calls.take(pieces)
    }
    return withMembers(delta, changes)
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
      if (later !== undefined && (saysSomething(later) || isText(later.finish_reason))) {
        return { ...choice, finish_reason: null }
      }
      const [closing, ...more] = this.#closing(index, state, choice.finish_reason).reverse()
      if (more.length > 0 && closing !== undefined) {
        after.push(...more.reverse(), closing)
        return { ...choice, finish_reason: null }
      }
      return withMembers(choice, { finish_reason: this.#choicesIn(closing ?? {})[0]?.finish_reason })
    })
    const isSame = choices.every((choice, at) => choice === before[at])
    const visible = isSame ? held : { body: { ...held.body, choices }, bytes: null }
    return [encoded(visible), ...after.map(encodeEvent)]
  }

  /** The chunks that end a choice: what its tool calls lack, if anything, and its finish reason. */
  #closing (index: number, state: OpenChoice, reason: string): JsonObject[] {
    state.isFinished = true
    const said = this.#isLegacy ? { text: '' } : { delta: {} }
    const finish = finalReason(reason, state.calls.count > 0, state.hasFunctionCall)
    this.#finishReasons.set(index, finish)
    const rest = state.calls.rest()
    const chunk = (choice: JsonObject): JsonObject =>
      ({ ...this.head, choices: [{ index, ...said, logprobs: null, ...choice }] })
    const last = chunk({ finish_reason: finish })
    return rest.length === 0 ? [last] : [chunk({ delta: { tool_calls: rest }, finish_reason: null }), last]
  }
}

const usualInChoice: ReadonlySet<string> = new Set(['index', 'delta', 'finish_reason'])

/** Whether the members of a chunk, but for its choices, are what they have to be. */
const isSound = (body: JsonObject): boolean => Object.keys(wrongInResponse(body)).length === 0

function encoded ({ body, bytes }: { body: JsonObject, bytes: Buffer | null }): Buffer {
  return bytes ?? encodeEvent(body)
}

function indexOf ({ index }: JsonObject, at: number): number {
  return Number.isInteger(index) ? Number(index) : at
}

/** The delta of a choice; some servers call it a message. */
function partOf ({ delta, message }: JsonObject): JsonObject | undefined {
  return [delta, message].find(isObject)
}

function contentOf (choice: JsonObject): string {
  const content = partOf(choice)?.content
  return typeof content === 'string' ? content : ''
}

/** Whether a choice has nothing beside its place, its role and its finish reason. */
function isBlank (choice: JsonObject): boolean {
  const { role: _, ...part } = partOf(choice) ?? {}
  return [choice.text, choice.logprobs, ...Object.values(part)].every(isNothing)
}

function isNothing (value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

const said = ['content', 'refusal', 'reasoning_content', 'reasoning', 'tool_calls', 'function_call', 'audio', 'images']

/** Whether a choice has anything but its beginning or its end. */
function saysSomething (choice: JsonObject): boolean {
  const part = partOf(choice) ?? {}
  return isText(choice.text) || said.some(name => {
    const value = part[name]
    return isText(value) || (Array.isArray(value) ? value.length > 0 : isObject(value))
  })
}
