import type { ResponseObject, ResponseUsage } from '../../../schemas/openai/responses.ts'
import { chargedUsage } from '../../chat/report-cost.ts'
import type { ResponseForm } from '../../chat/client-api.ts'
import type { EncodeError, Settle, Settled } from '../../requests/delivery.ts'
import { tokenCount } from '../../providers/usage.ts'
import type { RequestRecord } from '../../requests/request-record.ts'
import { isObject, isText, type JsonObject } from '../../shared/json.ts'
import { encodeNamedEvent, eventsIn } from '../../providers/upstream/sse.ts'
import { outputFrom, withOrigin } from './carried-reasoning.ts'
import { newItemId } from './open-items.ts'
import type { KeepResponse } from './response-form.ts'
import { beginResponse, type ResponseStart } from './response-object.ts'
import { failedMembers } from './response-builder.ts'

interface NativeOptions {
  head: ResponseStart
  keep: KeepResponse
  /** Says which provider answers. */
  record: Pick<RequestRecord, 'provider'>
}

/**
 * Passes responses on as their provider has written them, but for what is the gateway's own: the id, the turn
 * before, whether and where the response is stored, and the charge.
 */
export function nativeForm (options: NativeOptions): ResponseForm {
  return {
    async whole ({ body }, settled) {
      const response = ownResponse({ ...body }, options, settled)
      response.store = await options.keep(response)
      return { body: response, text: null }
    },
    stream (events, settle) {
      const stream = new NativeStream(options)
      return { events: stream.relay(events, settle), encodeError: error => stream.fail(error) }
    }
  }
}

/** A provider's response as one of this gateway. */
function ownResponse (
  received: JsonObject, { head, record }: NativeOptions, settled: Settled | null
): ResponseObject {
  const { request } = head
  const own = beginResponse(head)
  const output = outputFrom(received.output, record.provider ?? '')
  const ofGateway = {
    background: false,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    previous_response_id: request.previous_response_id ?? null,
    store: head.isStored
  }
  const response: ResponseObject = {
    ...own,
    ...received,
    ...ofGateway,
    id: own.id,
    object: 'response',
    created_at: own.created_at,
    model: isText(received.model) ? received.model : own.model,
    status: statusOf(received.status),
    error: null,
    incomplete_details: incompleteDetails(received.incomplete_details),
    service_tier: isText(received.service_tier) ? received.service_tier : own.service_tier ?? null,
    // Members keep their order, in which the events had them.
    output: output.map(item => {
      const id = isText(item.id) ? item.id : newItemId('item')
      return { ...item, id, type: String(item.type) }
    }),
    usage: isObject(received.usage) ? ownUsage(received.usage, settled) : null
  }
  return response
}

function incompleteDetails (details: unknown): { reason: string } | null {
  return isObject(details) && isText(details.reason) ? { reason: details.reason } : null
}

/** A usage that clients can read, whatever the provider has sent, with the charge and its counts. */
function ownUsage (received: JsonObject, settled: Settled | null): ResponseUsage {
  const { input_tokens_details: input, output_tokens_details: output } = received
  const { prompt, completion } = settled?.estimate ?? {}
  const inputTokens = tokenCount(received.input_tokens) ?? prompt ?? 0
  const outputTokens = tokenCount(received.output_tokens) ?? completion ?? 0
  return {
    ...chargedUsage(received, settled?.costNano ?? null),
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: 0, ...countsIn(input) },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0, ...countsIn(output) },
    total_tokens: tokenCount(received.total_tokens) ?? inputTokens + outputTokens
  }
}

function countsIn (details: unknown): Record<string, number> {
  const members = isObject(details) ? Object.entries(details) : []
  return Object.fromEntries(members.flatMap(([name, value]) => {
    const count = tokenCount(value)
    return count === undefined ? [] : [[name, count] as const]
  }))
}

function statusOf (status: unknown): ResponseObject['status'] {
  return status === 'incomplete' || status === 'in_progress' || status === 'queued' ? status : 'completed'
}

const ends = /^event: ?response\.(completed|incomplete)$/m
/** Events whose data is changed. */
const changed =
  /^event: ?response\.(created|queued|in_progress|completed|incomplete|output_item\.(added|done))$/m

/** The events of one response. */
class NativeStream {
  readonly #options: NativeOptions
  /** The items that are complete. */
  readonly #output: JsonObject[] = []
  #sequence = -1
  #head: JsonObject = {}

  constructor (options: NativeOptions) {
    this.#options = options
  }

  async * relay (events: AsyncIterable<Uint8Array>, settle: Settle): AsyncGenerator<Uint8Array> {
    for await (const bytes of events) {
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
      if (!changed.test(text)) {
        this.#note(text)
        yield bytes
        continue
      }
      const settled = ends.test(text) ? await settle() : null
      for (const { event, data } of eventsIn(Buffer.from(text))) {
        yield encodeNamedEvent(event, await this.#own(JSON.parse(data), settled))
      }
    }
  }

  /** The events after which nothing comes, because the provider or the gateway has given up. */
  fail (error: Parameters<EncodeError>[0]): Uint8Array {
    const response = ownResponse({ ...this.#head, output: this.#output, usage: null }, this.#options, null)
    const failed = { ...response, ...failedMembers(error) }
    const type = 'response.failed'
    return encodeNamedEvent(type, { type, sequence_number: this.#sequence + 1, response: failed })
  }

  async #own (event: JsonObject, settled: Settled | null): Promise<JsonObject> {
    const { item, response } = event
    const provider = this.#options.record.provider ?? ''
    if (typeof event.sequence_number === 'number') this.#sequence = event.sequence_number
    if (isObject(item)) {
      const own = withOrigin(item, provider)
      if (event.type === 'response.output_item.done') this.#output.push(item)
      return { ...event, item: own }
    }
    if (!isObject(response)) return event
    this.#head = { ...response }
    const own = ownResponse(response, this.#options, settled)
    const isEnd = event.type === 'response.completed' || event.type === 'response.incomplete'
    if (isEnd) own.store = await this.#options.keep(own)
    return { ...event, response: own }
  }

  /** Notes the number of the last event of a piece that passes unchanged. */
  #note (text: string): void {
    const last = text.lastIndexOf('"sequence_number":')
    const found = last === -1 ? null : /^"sequence_number":\s*(\d+)/.exec(text.slice(last, last + 40))
    if (found !== null) this.#sequence = Number(found[1])
  }
}
