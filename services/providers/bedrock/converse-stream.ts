import type { ChatCompletionChunk } from '../../../schemas/openai/chat-completions.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { MessageChunks } from '../anthropic/chunks.ts'
import { cutShort, parseEvent } from '../named-events.ts'
import type { StreamReport } from '../report.ts'
import type { UpstreamResponse } from '../upstream/response.ts'
import { tokensIn, stopOf, type ResponseHead } from './converse-response.ts'
import { bedrockErrorIn } from './errors.ts'
import { framesOf } from './frames.ts'

interface StreamOptions {
  head: ResponseHead
  /** Masked in errors. */
  secret: string | null
}

/**
 * The chunks of ConverseStream, usage last. Throws UpstreamError for an exception in the stream, and for a
 * malformed or cut one.
 */
export async function * readConverseStream (
  response: UpstreamResponse, report: StreamReport, { head, secret }: StreamOptions
): AsyncGenerator<ChatCompletionChunk, void, undefined> {
  const writer = new MessageChunks(report)
  const events = new MessageEvents(head)
  for await (const frame of framesOf(response)) {
    const failure = bedrockErrorIn(frame, secret)
    if (failure !== null) throw failure
    const event = frame.headers[':event-type'] ?? ''
    const body = parseEvent({ event, data: frame.payload.toString() })
    for (const one of events.take(event, body)) yield * writer.take(one)
    if (writer.isDone) return response.finish()
  }
  throw cutShort()
}

/** Turns the events of ConverseStream into those of the Messages API. */
class MessageEvents {
  readonly #head: ResponseHead
  /** The blocks of thoughts that have begun: Converse has no event for that. */
  readonly #thoughts = new Set<unknown>()
  #stop: JsonObject = {}

  constructor (head: ResponseHead) {
    this.#head = head
  }

  take (event: string, body: JsonObject): JsonObject[] {
    const { contentBlockIndex: index, start, delta } = body
    switch (event) {
      case 'messageStart': return [{ type: 'message_start', message: { ...this.#head, content: [] } }]
      case 'contentBlockStart': return beginTool(index, start)
      case 'contentBlockDelta': return isObject(delta) ? this.#continue(index, delta) : []
      case 'contentBlockStop': return [{ type: 'content_block_stop', index }]
      case 'messageStop':
        this.#stop = stopOf(body.stopReason)
        return []
      // The usage comes last, and is final with the reason to stop.
      case 'metadata': return [
        { type: 'message_delta', delta: this.#stop, usage: tokensIn(body.usage) }, { type: 'message_stop' }
      ]
      default: return []
    }
  }

  #continue (index: unknown, { text, toolUse, reasoningContent: thought }: JsonObject): JsonObject[] {
    if (isText(text)) return [change(index, { type: 'text_delta', text })]
    if (isObject(toolUse)) return [change(index, { type: 'input_json_delta', partial_json: toolUse.input })]
    return isObject(thought) ? this.#think(index, thought) : []
  }

  #think (index: unknown, { text, signature, redactedContent: data }: JsonObject): JsonObject[] {
    if (isText(data)) return [begin(index, { type: 'redacted_thinking', data })]
    const events = this.#thoughts.has(index) ? [] : [begin(index, { type: 'thinking', thinking: '', signature: '' })]
    this.#thoughts.add(index)
    if (isText(text)) events.push(change(index, { type: 'thinking_delta', thinking: text }))
    if (isText(signature)) events.push(change(index, { type: 'signature_delta', signature }))
    return events
  }
}

function beginTool (index: unknown, start: unknown): JsonObject[] {
  if (!isObject(start) || !isObject(start.toolUse)) return []
  const { toolUseId: id, name } = start.toolUse
  return [begin(index, { type: 'tool_use', id, name, input: {} })]
}

const begin = (index: unknown, block: JsonObject): JsonObject =>
  ({ type: 'content_block_start', index, content_block: block })

const change = (index: unknown, delta: JsonObject): JsonObject => ({ type: 'content_block_delta', index, delta })
