import type { MessageEvent } from '../../../schemas/anthropic/messages.ts'
import type { ChatCompletionChunk, ChatCompletionDelta, ToolCallDelta } from '../../../schemas/openai/chat-completions.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { encodeNamedEvent } from '../../providers/upstream/sse.ts'
import { endingOf, messageOf, stopIn, usageOfMessage } from './message-head.ts'
import { Thoughts } from './thoughts.ts'
import { extraOf, type Asked } from './to-message.ts'

interface StreamOptions extends Asked {
  /** What the prompt is likely to have; the end of the stream has the exact number. */
  inputTokens: number
}

/** A tool call as it comes; its arguments wait while another block is open. */
interface OpenCall { id: string, name: string, text: string, sent: number, extra: JsonObject | null }

/**
 * Writes the events of one message from the chunks of a chat: blocks follow each other, a delta stands in a
 * block of its type, and every block that starts also stops. Source: @anthropic-ai/sdk 1.12.0,
 * RawMessageStreamEvent; docs.anthropic.com, "Streaming messages".
 */
export class MessageStream {
  readonly #options: StreamOptions
  readonly #thoughts: Thoughts
  readonly #calls = new Map<number, OpenCall>()
  #hasStarted = false
  #index = -1
  #open: 'text' | 'thinking' | OpenCall | null = null
  /** What was said while a call was open. */
  readonly #waiting: ChatCompletionDelta[] = []
  #usage: unknown = null
  #tier: unknown = null
  #reason: unknown = null
  #stoppedAt: unknown = null
  #refusal = ''

  constructor (options: StreamOptions) {
    this.#options = options
    this.#thoughts = new Thoughts({ isShown: options.showsThoughts })
  }

  /** The events for a chunk. */
  * take (chunk: ChatCompletionChunk): Generator<MessageEvent> {
    const { choices: [choice], usage, service_tier: tier } = chunk
    if (isObject(usage)) this.#usage = usage
    this.#tier = tier ?? this.#tier
    if (choice === undefined) return
    const isFirst = !this.#hasStarted
    if (isFirst) yield * this.#start(chunk)
    const { delta } = choice
    if (choice.finish_reason !== null) {
      this.#reason = choice.finish_reason
      this.#stoppedAt = stopIn(choice)
    } else if (!isFirst && Object.keys(delta).length === 0) yield { type: 'ping' }
    // What is said in the midst of a call waits for its end.
    const { tool_calls: calls = [], ...said } = delta
    if (Object.keys(said).length > 0) {
      if (this.#isCalling) this.#waiting.push(said)
      else yield * this.#speak(said)
    }
    for (const call of calls) yield * this.#callTool(call)
  }

  /** The events after the last chunk. */
  * end (): Generator<MessageEvent> {
    if (!this.#hasStarted) yield * this.#start({ id: '', model: '' })
    yield * this.#speakWaiting()
    yield * this.#endThoughts()
    for (const call of this.#calls.values()) yield * this.#begin(call)
    yield * this.#close()
    const { stops } = this.#options
    const hasCalls = this.#calls.size > 0
    const [reason, stoppedAt, refusal] = [this.#reason, this.#stoppedAt, this.#refusal]
    const ending = endingOf({ reason, refusal, hasCalls, stoppedAt, stops })
    const usage = usageOfMessage(this.#usage ?? { prompt_tokens: this.#options.inputTokens }, this.#tier)
    yield { type: 'message_delta', delta: { ...ending, container: null }, usage }
    yield { type: 'message_stop' }
  }

  /** Whether a call is open whose arguments are not complete; reads all of them. */
  get #isCalling (): boolean {
    const open = this.#open
    return open !== null && typeof open !== 'string' && !isComplete(open)
  }

  * #speakWaiting (): Generator<MessageEvent> {
    for (const delta of this.#waiting.splice(0)) yield * this.#speak(delta)
  }

  * #speak (delta: ChatCompletionDelta): Generator<MessageEvent> {
    const shown = this.#thoughts.take(delta)
    if (shown !== '') yield * this.#showThoughts(shown)
    const text = `${delta.content ?? ''}${delta.refusal ?? ''}`
    if (text !== '') yield * this.#say(text)
    if (isText(delta.refusal)) this.#refusal += delta.refusal
  }

  * #start ({ id, model }: { id: string, model: string }): Generator<MessageEvent> {
    this.#hasStarted = true
    const { inputTokens } = this.#options
    const usage = usageOfMessage({ prompt_tokens: inputTokens, completion_tokens: 1 }, this.#tier)
    yield { type: 'message_start', message: messageOf({ id, model }, usage) }
    yield { type: 'ping' }
  }

  * #showThoughts (text: string): Generator<MessageEvent> {
    if (this.#open !== 'thinking') yield * this.#openThinking()
    yield { type: 'content_block_delta', index: this.#index, delta: { type: 'thinking_delta', thinking: text } }
  }

  * #openThinking (): Generator<MessageEvent> {
    yield * this.#close()
    this.#open = 'thinking'
    yield { type: 'content_block_start', index: ++this.#index, content_block: { type: 'thinking', thinking: '', signature: '' } }
  }

  /** Ends the thoughts so far, with the signature that the client sends back. */
  * #endThoughts (extras: JsonObject = {}): Generator<MessageEvent> {
    const block = this.#thoughts.end(extras)
    if (block === null) return
    if (block.type === 'redacted_thinking') {
      yield * this.#close()
      yield { type: 'content_block_start', index: ++this.#index, content_block: block }
      yield { type: 'content_block_stop', index: this.#index }
      return
    }
    if (this.#open !== 'thinking') yield * this.#openThinking()
    yield { type: 'content_block_delta', index: this.#index, delta: { type: 'signature_delta', signature: block.signature } }
    yield * this.#close()
  }

  * #say (text: string): Generator<MessageEvent> {
    yield * this.#endThoughts()
    if (this.#open !== 'text') {
      yield * this.#close()
      this.#open = 'text'
      const block = { type: 'text', text: '' } as const
      yield { type: 'content_block_start', index: ++this.#index, content_block: block }
    }
    yield { type: 'content_block_delta', index: this.#index, delta: { type: 'text_delta', text } }
  }

  * #callTool (delta: ToolCallDelta): Generator<MessageEvent> {
    const known = this.#calls.get(delta.index)
    const call = known ?? { id: '', name: '', text: '', sent: -1, extra: null }
    this.#calls.set(delta.index, call)
    call.id ||= delta.id ?? ''
    call.name ||= delta.function?.name ?? delta.custom?.name ?? ''
    call.text += delta.function?.arguments ?? delta.custom?.input ?? ''
    call.extra ??= extraOf(delta)
    // Calls that come side by side wait for the one that is open, unless that is complete.
    if (this.#open === call || !this.#isCalling) yield * this.#begin(call)
    if (this.#waiting.length > 0 && !this.#isCalling) yield * this.#speakWaiting()
  }

  /** Opens the block of a call, if it is not open, and sends what has come of its arguments. */
  * #begin (call: OpenCall): Generator<MessageEvent> {
    if (call.sent < 0) {
      yield * this.#endThoughts(call.extra === null ? {} : { [call.id]: call.extra })
      yield * this.#close()
      this.#open = call
      call.sent = 0
      const { id, name } = call
      yield { type: 'content_block_start', index: ++this.#index, content_block: { type: 'tool_use', id, name, input: {} } }
    }
    if (this.#open !== call || call.text.length === call.sent) return
    const piece = call.text.slice(call.sent)
    call.sent = call.text.length
    yield { type: 'content_block_delta', index: this.#index, delta: { type: 'input_json_delta', partial_json: piece } }
  }

  * #close (): Generator<MessageEvent> {
    if (this.#open === null) return
    this.#open = null
    yield { type: 'content_block_stop', index: this.#index }
  }
}

function isComplete ({ text }: OpenCall): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** Events as bytes. */
export function encodeMessageEvents (events: Iterable<MessageEvent>): Uint8Array {
  return Buffer.concat([...events].map(event => encodeNamedEvent(event.type, event)))
}
