import { randomBytes } from 'node:crypto'
import type { ChatLogprobs } from '../../../schemas/openai/chat-completions.ts'
import type { JsonObject } from '../../shared/json.ts'
import type { ToolName } from './tool-names.ts'
import { customInputOf } from './to-tools.ts'

/** Sends an event of a response; the stream adds its number. */
export type EmitEvent = (type: string, members: JsonObject) => void

export interface OutputItem extends JsonObject { id: string, type: string }

export type OutputStatus = 'completed' | 'incomplete'

/** An item of an answer while it is written. Source: openai@7.55.0, ResponseStreamEvent. */
export interface OpenItem {
  readonly item: OutputItem
  /** Ends the item and sends the events of its end. */
  close (status: OutputStatus): void
}

export function newItemId (prefix: string): string {
  return `${prefix}_${randomBytes(24).toString('hex')}`
}

/** Where an item stands, and the way of its events. */
export interface ItemPlace { index: number, emit: EmitEvent }

function open ({ emit, index }: ItemPlace, item: OutputItem): OutputItem {
  emit('response.output_item.added', { output_index: index, item: { ...item } })
  return item
}

export class OpenReasoning implements OpenItem {
  readonly item: OutputItem
  readonly #place: ItemPlace
  #text: string | null = null
  /** The text of `encrypted_content`, once it is known. */
  sealed: string | null = null

  constructor (place: ItemPlace) {
    this.#place = place
    this.item = open(place, { id: newItemId('rs'), type: 'reasoning', summary: [] })
  }

  addText (delta: string): void {
    if (this.#text === null) {
      this.#emit('response.reasoning_summary_part.added', { part: { type: 'summary_text', text: '' } })
    }
    this.#text = (this.#text ?? '') + delta
    this.#emit('response.reasoning_summary_text.delta', { delta })
  }

  close (): void {
    const text = this.#text
    if (text !== null) {
      const part = { type: 'summary_text', text }
      this.#emit('response.reasoning_summary_text.done', { text })
      this.#emit('response.reasoning_summary_part.done', { part })
      this.item.summary = [part]
    }
    if (this.sealed !== null) this.item.encrypted_content = this.sealed
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.item })
  }

  #emit (type: string, members: JsonObject): void {
    const place = { output_index: this.#place.index, summary_index: 0 }
    this.#place.emit(type, { item_id: this.item.id, ...place, ...members })
  }
}

type TokenLogprobs = NonNullable<ChatLogprobs['content']>

interface TextPart { type: 'output_text', text: string, annotations: JsonObject[], logprobs: TokenLogprobs }
interface RefusalPart { type: 'refusal', refusal: string }

export class OpenMessage implements OpenItem {
  readonly item: OutputItem
  readonly #place: ItemPlace
  readonly #parts: (TextPart | RefusalPart)[] = []

  constructor (place: ItemPlace) {
    this.#place = place
    this.item = open(place, {
      id: newItemId('msg'), type: 'message', status: 'in_progress', role: 'assistant', content: []
    })
  }

  addText (delta: string, logprobs: TokenLogprobs): void {
    const part = this.#textPart()
    part.text += delta
    part.logprobs.push(...logprobs)
    this.#emit('response.output_text.delta', { delta, logprobs })
  }

  addAnnotation (annotation: JsonObject): void {
    const { annotations } = this.#textPart()
    annotations.push(annotation)
    this.#emit('response.output_text.annotation.added', { annotation_index: annotations.length - 1, annotation })
  }

  addRefusal (delta: string): void {
    let part = this.#parts.at(-1)
    if (part?.type !== 'refusal') part = this.#begin({ type: 'refusal', refusal: '' })
    part.refusal += delta
    this.#emit('response.refusal.delta', { delta })
  }

  close (status: OutputStatus): void {
    this.#endPart()
    Object.assign(this.item, { status, content: this.#parts })
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.item })
  }

  #textPart (): TextPart {
    const part = this.#parts.at(-1)
    if (part?.type === 'output_text') return part
    return this.#begin({ type: 'output_text', text: '', annotations: [], logprobs: [] })
  }

  #begin<Part extends TextPart | RefusalPart> (part: Part): Part {
    this.#endPart()
    this.#parts.push(part)
    this.#emit('response.content_part.added', { part: structuredClone(part) })
    return part
  }

  #endPart (): void {
    const part = this.#parts.at(-1)
    if (part === undefined) return
    if (part.type === 'refusal') this.#emit('response.refusal.done', { refusal: part.refusal })
    else this.#emit('response.output_text.done', { text: part.text, logprobs: part.logprobs })
    this.#emit('response.content_part.done', { part })
  }

  #emit (type: string, members: JsonObject): void {
    const place = { output_index: this.#place.index, content_index: this.#parts.length - 1 }
    this.#place.emit(type, { item_id: this.item.id, ...place, ...members })
  }
}

export class OpenCall implements OpenItem {
  readonly item: OutputItem
  readonly #place: ItemPlace
  readonly #kind: ToolName['kind']
  #text = ''

  constructor (place: ItemPlace, callId: string, { kind, name, namespace }: ToolName) {
    this.#place = place
    this.#kind = kind
    const own = namespace === undefined ? { name } : { name, namespace }
    const begun = { status: 'in_progress', call_id: callId }
    this.item = open(place, {
      function: { id: newItemId('fc'), type: 'function_call', ...begun, ...own, arguments: '' },
      custom: { id: newItemId('ctc'), type: 'custom_tool_call', ...begun, ...own, input: '' },
      search: { id: newItemId('tsc'), type: 'tool_search_call', ...begun, execution: 'client', arguments: {} }
    }[kind])
  }

  /** Whether the arguments are complete JSON. */
  get isWhole (): boolean {
    try {
      JSON.parse(this.#text)
      return true
    } catch {
      return false
    }
  }

  addArguments (delta: string): void {
    this.#text += delta
    // The input of a custom tool is known once its JSON is whole.
    if (this.#kind === 'function' && delta !== '') this.#emit('response.function_call_arguments.delta', { delta })
  }

  close (status: OutputStatus): void {
    if (this.#kind === 'search') {
      // No event carries the pieces of its arguments.
      Object.assign(this.item, { status, arguments: this.isWhole ? JSON.parse(this.#text) : this.#text })
    } else if (this.#kind === 'custom') {
      const input = customInputOf(this.#text)
      if (input !== '') this.#emit('response.custom_tool_call_input.delta', { delta: input })
      this.#emit('response.custom_tool_call_input.done', { input })
      Object.assign(this.item, { status, input })
    } else {
      this.#emit('response.function_call_arguments.done', { name: this.item.name, arguments: this.#text })
      Object.assign(this.item, { status, arguments: this.#text })
    }
    this.#place.emit('response.output_item.done', { output_index: this.#place.index, item: this.item })
  }

  #emit (type: string, members: JsonObject): void {
    this.#place.emit(type, { item_id: this.item.id, output_index: this.#place.index, ...members })
  }
}
