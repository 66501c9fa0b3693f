import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import type { ResponseObject } from '../../../schemas/openai/responses.ts'
import type { GatewayError } from '../../shared/errors.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import {
  newItemId, OpenCall, OpenMessage, OpenReasoning,
  type EmitEvent, type ItemPlace, type OpenItem, type OutputStatus
} from './open-items.ts'
import { beginResponse, toResponseUsage, type ResponseStart } from './response-object.ts'
import { sealThoughts, type SealedThoughts } from './sealed-thoughts.ts'
import type { ToolNames } from './tool-names.ts'

type Failure = Pick<GatewayError, 'status' | 'message'>

/** What a response says that has failed. */
export function failedMembers ({ status, message }: Failure): Pick<ResponseObject, 'status' | 'error'> {
  const code = status === 429 ? 'rate_limit_exceeded' : status < 500 ? 'invalid_prompt' : 'server_error'
  return { status: 'failed', error: { code, message } }
}

type ChunkChoice = ChatCompletionChunk['choices'][number]
type ToolCallPiece = NonNullable<ChunkChoice['delta']['tool_calls']>[number]

/**
 * Builds a response from the chunks of a chat, and sends its events as it goes. Items come in the order in
 * which the model wrote them; an item ends when the next one begins.
 */
export class ResponseBuilder {
  readonly #response: ResponseObject
  readonly #names: ToolNames
  readonly #emit: EmitEvent
  readonly #asksForSeals: boolean
  readonly #open = new Set<OpenItem>()
  readonly #calls = new Map<number, OpenCall>()
  #hasBegun = false
  #reasoning: OpenReasoning | null = null
  #message: OpenMessage | null = null
  #sealed: SealedThoughts = {}
  #finish: string | null = null
  #isRefused = false

  constructor (head: ResponseStart, names: ToolNames, emit: EmitEvent = () => {}) {
    this.#response = beginResponse(head)
    this.#asksForSeals = head.request.include?.includes('reasoning.encrypted_content') === true
    this.#names = names
    this.#emit = emit
  }

  take ({ model, choices, usage, service_tier: tier }: ChatCompletionChunk): void {
    if (isText(model)) this.#response.model = model
    if (isText(tier)) this.#response.service_tier = tier
    this.#begin()
    if (usage) this.#response.usage = toResponseUsage(usage)
    for (const choice of choices) if (choice.index === 0) this.#takeChoice(choice)
  }

  /** Ends the response. */
  end (): ResponseObject {
    this.#begin()
    const isCut = this.#finish === 'length'
    const isFiltered = this.#finish === 'content_filter' && !this.#isRefused
    const status = isCut || isFiltered ? 'incomplete' : 'completed'
    this.#closeAll(status)
    Object.assign(this.#response, {
      status,
      completed_at: status === 'completed' ? Math.floor(Date.now() / 1000) : null,
      incomplete_details: isCut ? { reason: 'max_output_tokens' } : isFiltered ? { reason: 'content_filter' } : null
    })
    return this.#response
  }

  /** Sends the last event of a response that has ended. */
  finish (): void {
    this.#emit(`response.${this.#response.status}`, { response: this.#response })
  }

  /** Ends a response that has failed. */
  fail (error: Failure): ResponseObject {
    this.#begin()
    this.#closeAll('incomplete')
    Object.assign(this.#response, failedMembers(error))
    this.finish()
    return this.#response
  }

  #begin (): void {
    if (this.#hasBegun) return
    this.#hasBegun = true
    this.#emit('response.created', { response: { ...this.#response, output: [] } })
    this.#emit('response.in_progress', { response: { ...this.#response, output: [] } })
  }

  #takeChoice ({ delta, logprobs, finish_reason: reason }: ChunkChoice): void {
    const members: JsonObject = { ...delta }
    this.#takeThoughts(members)
    const { content, refusal, tool_calls: calls } = delta
    if (isText(content)) this.#openMessage().addText(content, logprobs?.content ?? [])
    this.#takeAnnotations(members.annotations)
    if (isText(refusal)) {
      this.#isRefused = true
      this.#openMessage().addRefusal(refusal)
    }
    if (isObject(members.extra_content)) this.#seal({ message: members.extra_content })
    if (Array.isArray(members.images)) for (const image of members.images) this.#takeImage(image)
    for (const call of calls ?? []) this.#takeCall(call)
    this.#finish = reason ?? this.#finish
  }

  #takeThoughts ({ reasoning_content: content, reasoning, reasoning_details: details }: JsonObject): void {
    const text = isText(content) ? content : isText(reasoning) ? reasoning : ''
    if (text !== '') this.#openReasoning().addText(text)
    if (!Array.isArray(details) || details.length === 0) return
    this.#openReasoning()
    this.#sealed.details ??= []
    for (const detail of details) this.#sealed.details.push(detail)
  }

  #takeAnnotations (annotations: unknown): void {
    if (!Array.isArray(annotations)) return
    for (const annotation of annotations.filter(isObject)) {
      const { type, [String(type)]: citation } = annotation
      this.#openMessage().addAnnotation(isObject(citation) ? { type, ...citation } : annotation)
    }
  }

  #takeImage (image: unknown): void {
    const url = isObject(image) && isObject(image.image_url) ? image.image_url.url : null
    if (!isText(url)) return
    this.#closeText()
    const place = this.#place()
    const id = newItemId('ig')
    const item = { id, type: 'image_generation_call', status: 'completed', result: url.replace(/^data:[^,]*,/, '') }
    const begun = { ...item, status: 'in_progress', result: null }
    this.#emit('response.output_item.added', { output_index: place.index, item: begun })
    this.#response.output.push(item)
    this.#emit('response.output_item.done', { output_index: place.index, item })
  }

  #takeCall (piece: ToolCallPiece): void {
    let call = this.#calls.get(piece.index)
    if (call === undefined) {
      const extra: unknown = Reflect.get(piece, 'extra_content')
      // Tool calls carry the thoughts before them whole.
      if (isObject(extra)) this.#seal({ call: extra })
      this.#closeText()
      for (const before of this.#calls.values()) if (before.isWhole) this.#close(before, 'completed')
      const name = piece.function?.name ?? ''
      const tool = this.#names.get(name) ?? { kind: 'function' as const, name }
      call = this.#add(new OpenCall(this.#place(), piece.id ?? newItemId('call'), tool))
      this.#calls.set(piece.index, call)
    }
    call.addArguments(piece.function?.arguments ?? '')
  }

  /** Has a reasoning item carry what its provider must get back. */
  #seal (thoughts: SealedThoughts): void {
    if (thoughts.message !== undefined) this.#closeText()
    this.#openReasoning()
    this.#sealed = thoughts
    this.#closeText()
  }

  #openReasoning (): OpenReasoning {
    if (this.#reasoning !== null) return this.#reasoning
    this.#closeText()
    this.#reasoning = this.#add(new OpenReasoning(this.#place()))
    return this.#reasoning
  }

  #openMessage (): OpenMessage {
    if (this.#message !== null) return this.#message
    this.#closeText()
    this.#message = this.#add(new OpenMessage(this.#place()))
    return this.#message
  }

  #place (): ItemPlace {
    return { index: this.#response.output.length, emit: this.#emit }
  }

  #add<Item extends OpenItem> (item: Item): Item {
    this.#open.add(item)
    this.#response.output.push(item.item)
    return item
  }

  #closeText (status: OutputStatus = 'completed'): void {
    if (this.#reasoning !== null) {
      this.#reasoning.sealed = sealThoughts(this.#sealed, this.#asksForSeals)
      this.#sealed = {}
      this.#close(this.#reasoning, status)
    }
    if (this.#message !== null) this.#close(this.#message, status)
    this.#reasoning = null
    this.#message = null
  }

  #close (item: OpenItem, status: OutputStatus): void {
    if (!this.#open.delete(item)) return
    item.close(status)
  }

  #closeAll (status: OutputStatus): void {
    this.#closeText(status)
    for (const item of [...this.#open]) this.#close(item, status)
  }
}
