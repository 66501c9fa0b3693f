import { setImmediate } from 'node:timers/promises'
import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { EventParser, eventsIn, type ReadEvent } from '../upstream/sse.ts'
import { createReport } from '../report.ts'
import { StreamEditor } from './stream-editor.ts'
import type { StreamForm } from './stream-repair.ts'

// Some servers answer a request for a stream with a whole answer, and one for a whole answer with a stream.

/** A whole answer, in OpenAI's form, as the chunks of a stream; the last one has the usage, if any. */
export async function * asChunks<Chunk> (response: unknown): AsyncGenerator<Chunk, void, undefined> {
  const { choices, usage, ...rest } = isObject(response) ? response : {}
  const isLegacy = rest.object === 'text_completion'
  const head = isLegacy ? rest : { ...rest, object: 'chat.completion.chunk' }
  for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
    const { message, finish_reason: reason, ...others } = choice
    // Built from parsed JSON in the form that was checked when the answer was read.
    const chunk = (members: JsonObject): Chunk => ({ ...head, choices: [members] }) as Chunk
    if (isLegacy) {
      yield chunk(choice)
      continue
    }
    yield chunk({ ...others, delta: asDelta(message), finish_reason: null })
    yield chunk({ index: choice.index, delta: {}, finish_reason: reason })
  }
  if (isObject(usage)) yield { ...head, choices: [], usage } as Chunk
}

function asDelta (message: unknown): JsonObject {
  if (!isObject(message)) return {}
  const { tool_calls: calls } = message
  if (!Array.isArray(calls)) return message
  return { ...message, tool_calls: calls.filter(isObject).map((call, index) => ({ index, ...call })) }
}

/** So much of a stream is read before other requests have their turn. */
const bytesPerTurn = 64 * 1024

/** The whole answer that the text of an event stream has. Throws UpstreamError, as the stream would. */
export async function collectStream (text: string, form: StreamForm): Promise<JsonObject> {
  const bytes = Buffer.from(text.trimStart())
  const isLegacy = form.fallback.object === 'text_completion'
  const fallback = { ...form.fallback, object: isLegacy ? 'text_completion' : 'chat.completion.chunk' }
  const editor = new StreamEditor(createReport(), { ...form, fallback, hideUsage: false })
  const response = new ResponseOfChunks(isLegacy)
  const parser = new EventParser()
  const take = (events: readonly ReadEvent[]): void => {
    for (const event of events) {
      if (!editor.isDone) response.take(editor.edit(event))
      if (editor.failure !== null) throw editor.failure
    }
  }
  for (let at = 0; at < bytes.length && !editor.isDone; at += bytesPerTurn) {
    if (at > 0) await setImmediate()
    take(parser.push(bytes.subarray(at, at + bytesPerTurn)).events)
  }
  take(parser.end().events)
  if (!editor.isDone) {
    if (!editor.repair.isComplete) {
      throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer ended before it was complete.')
    }
    response.take(editor.repair.end())
  }
  return response.whole
}

/** Puts chunks together. */
export class ResponseOfChunks {
  readonly #isLegacy: boolean
  readonly #members: JsonObject
  readonly #choices = new Map<unknown, JsonObject>()

  constructor (isLegacy: boolean) {
    this.#isLegacy = isLegacy
    this.#members = { object: isLegacy ? 'text_completion' : 'chat.completion' }
  }

  get whole (): JsonObject {
    return { ...this.#members, choices: [...this.#choices.values()] }
  }

  /** Takes events that the editor has made. */
  take (events: readonly Buffer[]): void {
    for (const { data } of events.flatMap(eventsIn)) if (data !== '[DONE]') this.takeChunk(JSON.parse(data))
  }

  /** Takes one chunk, whose objects it may change later. */
  takeChunk ({ choices, object: _, ...members }: JsonObject): void {
    for (const [name, value] of entriesOf(members)) if (value !== null) this.#members[name] = value
    for (const choice of Array.isArray(choices) ? choices.filter(isObject) : []) {
      const { delta, ...others } = choice
      const before = this.#choices.get(choice.index) ?? {}
      this.#choices.set(choice.index, append(before, this.#isLegacy ? others : { ...others, message: delta }))
    }
  }
}

/** No server nests the members of a chunk deeper. */
const deepest = 100

/**
 * Adds a piece, and returns what it is added to: texts follow each other, lists with an index are merged by
 * it, other values replace. Throws UpstreamError for one that is too deep.
 */
function append (whole: JsonObject, piece: JsonObject, depth = 0): JsonObject {
  if (depth > deepest) throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer is nested too deeply.')
  for (const [name, value] of entriesOf(piece)) {
    const old = whole[name]
    if (value === null || value === undefined) whole[name] ??= value
    else if (isText(old) && typeof value === 'string' && texts.has(name)) whole[name] = old + value
    else if (isObject(old) && isObject(value)) append(old, value, depth + 1)
    else if (Array.isArray(value)) whole[name] = appendList(Array.isArray(old) ? old : [], value, depth + 1)
    else whole[name] = value
  }
  return whole
}

/** Without `__proto__`, which would reach the prototype of all objects where a piece is added in place. */
function entriesOf (piece: JsonObject): [string, unknown][] {
  return Object.entries(piece).filter(([name]) => name !== '__proto__')
}

const texts = new Set(['content', 'text', 'refusal', 'reasoning_content', 'arguments', 'input', 'data', 'transcript'])

/** Each piece with an index is looked for among the others. */
const maxIndexed = 1_000

function appendList (whole: unknown[], pieces: readonly unknown[], depth: number): unknown[] {
  for (const piece of pieces) {
    const isIndexed = isObject(piece) && typeof piece.index === 'number'
    if (isIndexed && whole.length > maxIndexed) {
      throw new UpstreamError('bad_reply', 'yes', `The provider's answer has a list of more than ${maxIndexed} items.`)
    }
    const same = isIndexed ? whole.find(one => isObject(one) && one.index === piece.index) : undefined
    if (isIndexed && isObject(same)) append(same, piece, depth)
    else whole.push(piece)
  }
  return whole
}
