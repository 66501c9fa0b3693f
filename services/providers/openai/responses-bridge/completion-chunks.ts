import type { ChatCompletionChunk, ChatCompletionDelta } from '../../../../schemas/openai/chat-completions.ts'
import type { ToolCall } from '../../../../schemas/openai/chat-messages.ts'
import { isObject, isText, type JsonObject } from '../../../shared/json.ts'
import type { FinishReason } from '../../provider.ts'
import {
  paragraph, readEnding, readHead, readItemTexts, readToolCall, usageMember, type HeadFields, type ItemTexts
} from './output-items.ts'
import { readPastReasoning, writePastCopy, writePastDetail, type PastReasoning } from './past-reasoning.ts'

type Delta = ChatCompletionDelta & { reasoning_content?: string, reasoning_details?: JsonObject[] }

/** The texts of one output item; `input`: what a tool is called with. */
type Texts = ItemTexts & { input: string }

interface OpenItem {
  /** What the client has of it. */
  sent: Texts
  call: { index: number, isCustom: boolean } | null
  isDone: boolean
}

const nothing = (): Texts => ({ content: '', refusal: '', reasoning: '', input: '' })
const kinds = ['reasoning', 'content', 'refusal', 'input'] as const

/** Which text an event adds to, by the event's type without `response.` and `.delta`. */
const texts: Readonly<Record<string, keyof Texts>> = {
  output_text: 'content',
  refusal: 'refusal',
  reasoning_summary_text: 'reasoning',
  reasoning_text: 'reasoning',
  function_call_arguments: 'input',
  custom_tool_call_input: 'input'
}

/**
 * Turns the events of one response into chunks. The first chunk, with the role, waits for the first content,
 * so that a response that fails at once can be replaced. Servers may leave out events: what a finished item
 * or response has beyond its deltas is sent then. Source: openai@7.59.0, ResponseStreamEvent.
 */
export class CompletionChunks {
  readonly #model: string
  readonly #format: string
  readonly #items = new Map<unknown, OpenItem>()
  #head: HeadFields | null = null
  #hasBegun = false
  #calls = 0
  #details = 0
  /** The kinds of text that an item has had. */
  readonly #said = new Set<keyof Texts>()
  /** Reasoning since the last tool call; it is sent along with the next one. */
  #fresh: PastReasoning[] = []

  constructor (model: string, format: string) {
    this.#model = model
    this.#format = format
  }

  /** The chunks of an event that is no failure. */
  take (event: JsonObject): ChatCompletionChunk[] {
    const { type, response, item, output_index: at, delta } = event
    if (isObject(response)) this.#head ??= readHead(response, this.#model)
    switch (type) {
      case 'response.output_item.added': return isObject(item) ? this.#begin(at, item) : []
      case 'response.output_item.done': return isObject(item) ? this.#finish(at, item) : []
      case 'response.reasoning_summary_part.added':
        return event.summary_index === 0 ? [] : this.#addText(at, 'reasoning', paragraph)
      case 'response.completed':
      case 'response.incomplete': return isObject(response) ? this.#end(response) : []
    }
    const kind = isText(type) && isText(delta) ? texts[type.slice('response.'.length, -'.delta'.length)] : undefined
    return kind === undefined ? [] : this.#addText(at, kind, String(delta))
  }

  #begin (at: unknown, item: JsonObject): ChatCompletionChunk[] {
    const open = this.#items.get(at) ?? { sent: nothing(), call: null, isDone: false }
    this.#items.set(at, open)
    const call = readToolCall(item)
    if (call === null || open.call !== null) return []
    open.call = { index: this.#calls++, isCustom: call.type === 'custom' }
    open.sent.input = inputOf(call)
    const extra = writePastCopy(this.#fresh)
    this.#fresh = []
    return this.#delta({ tool_calls: [{ index: open.call.index, ...call, ...extra }] })
  }

  #addText (at: unknown, kind: keyof Texts, text: string): ChatCompletionChunk[] {
    if (!this.#items.has(at)) this.#begin(at, {})
    const open = this.#items.get(at)
    if (open === undefined || text === '' || (kind === 'input' && open.call === null)) return []
    // The text of each item is a paragraph; inputs of tools are apart.
    const isNext = kind !== 'input' && open.sent[kind] === '' && this.#said.has(kind)
    this.#said.add(kind)
    open.sent[kind] += text
    return this.#delta(deltaOf(open, kind, isNext ? paragraph + text : text))
  }

  /** The rest of an item, and the encrypted form of reasoning. */
  #finish (at: unknown, item: JsonObject): ChatCompletionChunk[] {
    const chunks = this.#begin(at, item)
    const open = this.#items.get(at)
    if (open === undefined || open.isDone) return chunks
    open.isDone = true
    const call = readToolCall(item)
    const whole: Texts = { ...readItemTexts(item), input: call === null ? '' : inputOf(call) }
    for (const kind of kinds) {
      const sent = open.sent[kind]
      if (!whole[kind].startsWith(sent)) continue
      chunks.push(...this.#addText(at, kind, whole[kind].slice(sent.length)))
    }
    const past = readPastReasoning(item, this.#format)
    if (past === null) return chunks
    this.#fresh.push(past)
    return [...chunks, ...this.#delta({ reasoning_details: [writePastDetail(past, this.#details++)] })]
  }

  #end (response: JsonObject): ChatCompletionChunk[] {
    const output = Array.isArray(response.output) ? response.output : []
    const rest = output.flatMap((item, at) => isObject(item) ? this.#finish(at, item) : [])
    return [
      ...rest,
      ...this.#open(),
      this.#chunk({}, readEnding(response, this.#calls > 0)),
      { ...readHead(response, this.#model), object: 'chat.completion.chunk', choices: [], ...usageMember(response) }
    ]
  }

  #delta (delta: Delta): ChatCompletionChunk[] {
    return [...this.#open(), this.#chunk(delta)]
  }

  #open (): ChatCompletionChunk[] {
    if (this.#hasBegun) return []
    this.#hasBegun = true
    return [this.#chunk({ role: 'assistant', content: '', refusal: null })]
  }

  #chunk (delta: Delta, reason: FinishReason | null = null): ChatCompletionChunk {
    const head = this.#head ??= readHead({}, this.#model)
    return { ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: reason }] }
  }
}

const inputOf = (call: ToolCall): string => call.type === 'custom' ? call.custom.input : call.function.arguments

function deltaOf ({ call }: OpenItem, kind: keyof Texts, text: string): Delta {
  if (kind === 'reasoning') return { reasoning_content: text }
  if (kind !== 'input') return { [kind]: text }
  if (call === null) return {}
  const piece = call.isCustom ? { custom: { input: text } } : { function: { arguments: text } }
  return { tool_calls: [{ index: call.index, ...piece }] }
}
