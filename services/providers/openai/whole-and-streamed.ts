import { UpstreamError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { eventsIn } from '../../upstream/sse.ts'
import { createReport } from '../report.ts'
import { StreamEditor } from './stream-editor.ts'
import type { StreamForm } from './stream-repair.ts'
import { PieceScan } from './piece-scan.ts'

// Some servers answer a request for a stream with a whole answer, and one for a whole answer with a stream.

/** A whole answer, in OpenAI's form, as the chunks of a stream; the last one has the usage, if any. */
export async function * asChunks<Chunk> (answer: unknown): AsyncGenerator<Chunk, void, undefined> {
  const { choices, usage, ...rest } = isObject(answer) ? answer : {}
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

/** The whole answer that an event stream has. Throws UpstreamError, as the stream would. */
export function collectStream (bytes: Buffer, form: StreamForm): JsonObject {
  const isLegacy = form.fallback.object === 'text_completion'
  const fallback = { ...form.fallback, object: isLegacy ? 'text_completion' : 'chat.completion.chunk' }
  const editor = new StreamEditor(createReport(), { ...form, fallback, hideUsage: false })
  const text = bytes.toString().trim().replace(/\r\n?/g, '\n') + '\n\n'
  const piece = Buffer.from(text)
  const scan = new PieceScan()
  scan.scan(piece)
  const events = [editor.edit(piece, scan)]
  if (editor.failure !== null) throw editor.failure
  if (!editor.isDone) {
    if (!editor.repair.isComplete) {
      throw new UpstreamError('bad_reply', 'yes', 'The provider\'s answer ended before it was complete.')
    }
    events.push(...editor.repair.end())
  }
  const chunks = eventsIn(Buffer.concat(events)).filter(({ data }) => data !== '[DONE]')
  return merged([...chunks.map(({ data }) => JSON.parse(data))], isLegacy)
}

function merged (chunks: readonly JsonObject[], isLegacy: boolean): JsonObject {
  const answer: JsonObject = { object: isLegacy ? 'text_completion' : 'chat.completion' }
  const choices = new Map<unknown, JsonObject>()
  for (const { choices: some, object: _, ...members } of chunks) {
    for (const [name, value] of Object.entries(members)) if (value !== null) answer[name] = value
    for (const choice of Array.isArray(some) ? some.filter(isObject) : []) {
      const { delta, ...others } = choice
      const before = choices.get(choice.index) ?? {}
      choices.set(choice.index, append(before, isLegacy ? others : { ...others, message: delta }))
    }
  }
  return { ...answer, choices: [...choices.values()] }
}

/** What a piece adds: texts follow each other, lists with an index are merged by it, other values replace. */
function append (before: JsonObject, piece: JsonObject): JsonObject {
  const after = { ...before }
  for (const [name, value] of Object.entries(piece)) {
    const old = after[name]
    if (value === null || value === undefined) after[name] ??= value
    else if (isText(old) && typeof value === 'string' && texts.has(name)) after[name] = old + value
    else if (isObject(old) && isObject(value)) after[name] = append(old, value)
    else if (Array.isArray(old) && Array.isArray(value)) after[name] = appendList(old, value)
    else if (Array.isArray(value)) after[name] = appendList([], value)
    else after[name] = value
  }
  return after
}

const texts = new Set(['content', 'text', 'refusal', 'reasoning_content', 'arguments', 'input', 'data', 'transcript'])

function appendList (before: readonly unknown[], pieces: readonly unknown[]): unknown[] {
  const after = [...before]
  for (const piece of pieces) {
    const at = isObject(piece) && typeof piece.index === 'number'
      ? after.findIndex(one => isObject(one) && one.index === piece.index)
      : -1
    const one = after[at]
    if (isObject(one) && isObject(piece)) after[at] = append(one, piece)
    else after.push(piece)
  }
  return after
}
