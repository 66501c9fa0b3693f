import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { Completion } from '../../schemas/openai/completions.ts'
import type { EventStream } from '../providers/provider.ts'
import { recordFinish, statedName, type StreamReport } from '../providers/report.ts'
import { isAbandoned } from '../requests/attempt.ts'
import { passing, type Settle, type Settled } from '../requests/delivery.ts'
import type { Exchange } from '../requests/exchange.ts'
import { headersOf } from '../requests/request-record.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { usdFromNano, usdText } from '../shared/money.ts'
import { doneEvent, encodeEvent, eventsIn } from '../providers/upstream/sse.ts'
import type { ChatOrText, AnyRequest } from './types.ts'

type AnyExchange = Exchange<AnyRequest>

/**
 * Sends an answer. A whole one is settled before, so that the client finds it in its balance; a stream whose
 * client asked for usage is settled before its last chunk, which has the cost.
 */
export async function reply (exchange: AnyExchange, response: ChatOrText, settle: Settle): Promise<void> {
  const { body, delivery, record } = exchange
  const headers = headersOf(record, response.report.dropped)
  if (response.kind === 'json') {
    recordFinish(response.report, response.body)
    return await deliverWhole(exchange, response, headers, await settle())
  }
  if (response.native === true) {
    return await (delivery.native ?? passing(delivery)).stream(headers, response.events, settle)
  }
  const settleLast = body.stream_options?.include_usage === true ? settle : null
  const { report } = response
  if (response.kind === 'chunks') {
    return await delivery.stream(headers, encodeChunks(response.chunks, report, settleLast))
  }
  const { events } = response
  await delivery.stream(headers, settleLast === null ? events : withCostAtEnd(events, report, settleLast))
}

async function deliverWhole (
  { delivery, signal }: AnyExchange, response: Extract<ChatOrText, { kind: 'json' }>, headers: Record<string, string>,
  settled: Settled
): Promise<void> {
  if (isAbandoned(signal)) return
  const { costNano } = settled
  if (costNano !== null) headers['x-tollgate-cost'] = usdText(costNano)
  if (response.native === true) {
    return await (delivery.native ?? passing(delivery)).json(headers, response.body, response.text, settled)
  }
  const { body, text } = costNano === null ? response : withCost(response, costNano)
  await delivery.json(headers, body, text)
}

/** Costs that providers report to the operator. */
const providerCosts = ['cost', 'cost_details', 'cost_in_usd_ticks', 'estimated_cost', 'is_byok']

/**
 * The usage with what the client was charged in USD, instead of what the provider says. Source of the field:
 * openrouter.ai/docs, usage accounting, November 2026.
 */
export function chargedUsage (usage: JsonObject, costNano: number | null): JsonObject {
  const counts = Object.fromEntries(Object.entries(usage).filter(([name]) => !providerCosts.includes(name)))
  return costNano === null ? counts : { ...counts, cost: usdFromNano(costNano) }
}

/**
 * The last chunk of a stream whose client asked for usage: with what the provider has counted, or with the
 * estimate that is charged. Null if there is neither, or no chunk whose head it could have.
 */
function usageChunk (
  head: object | null, counted: JsonObject | null, { costNano, estimate }: Settled
): JsonObject | null {
  if (head === null || (counted === null && estimate === null)) return null
  const usage = { ...counted, ...estimate === null ? {} : toUsage(estimate) }
  return { ...head, choices: [], usage: chargedUsage(usage, costNano) }
}

function toUsage ({ prompt = 0, completion = 0 }: NonNullable<Settled['estimate']>): JsonObject {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
}

/** The bytes of an answer that went to a client, as one that costs nothing. */
export function withoutCost (kind: 'json' | 'events', bytes: Uint8Array): Uint8Array {
  function free (text: string): string {
    return JSON.stringify(withCost({ body: JSON.parse(text), text: null }, 0).body)
  }
  const text = Buffer.from(bytes).toString()
  if (kind === 'json') return Buffer.from(free(text))
  const start = 'data: '
  const blocks = text.split('\n\n').map(block => {
    const data = block.slice(start.length)
    return block.startsWith(start) && withUsage(data) !== null ? start + free(data) : block
  })
  return Buffer.from(blocks.join('\n\n'))
}

interface Whole { body: object, text: string | null }

/** A whole answer with its cost, if it has usage. */
function withCost ({ body, text }: Whole, costNano: number): Whole {
  const usage: unknown = Reflect.get(body, 'usage')
  if (!isObject(usage)) return { body, text }
  const hasOther = providerCosts.some(name => name in usage)
  const spliced = text === null || hasOther ? null : spliceCost(text, costNano)
  if (spliced !== null) return { body, text: spliced }
  const costed = { ...body, usage: chargedUsage(usage, costNano) }
  return { body: costed, text: text === null ? null : JSON.stringify(costed) }
}

/** Adds the cost to the text of an answer, faster than serializing it again; null where that is not safe. */
function spliceCost (text: string, costNano: number): string | null {
  const start = text.lastIndexOf('"usage"')
  const brace = text.indexOf('{', start)
  if (text[start - 1] === '\\') return null
  try {
    // Valid only if this is the key of a member of the outermost object, and no part of a string.
    const { usage }: { usage: unknown } = JSON.parse(`{${text.slice(start)}`)
    if (!isObject(usage) || Object.keys(usage).length === 0) return null
  } catch {
    return null
  }
  return `${text.slice(0, brace + 1)}"cost":${usdFromNano(costNano)},${text.slice(brace + 1)}`
}

type Chunk = ChatCompletionChunk | Completion

/**
 * Translated chunks as an OpenAI event stream. The last chunk carries the usage: it goes to the client only
 * when that asked for it, in which case all others say `usage: null`.
 */
async function * encodeChunks (
  chunks: AsyncIterable<Chunk>, report: StreamReport, settle: Settle | null
): AsyncGenerator<Buffer, void, undefined> {
  let head: Chunk | null = null
  let counted: JsonObject | null = null
  for await (const chunk of chunks) {
    report.model ??= statedName(chunk.model)
    recordFinish(report, chunk)
    head = chunk
    if (chunk.choices.length === 0) counted = { ...chunk.usage }
    else yield encodeEvent(settle === null ? chunk : { ...chunk, usage: null })
  }
  const last = settle === null ? null : usageChunk(head, counted, await settle())
  if (last !== null) yield encodeEvent(last)
  yield doneEvent
}

/** An event stream whose usage comes in a last chunk of its own, with the cost. */
function withCostAtEnd (events: EventStream, report: StreamReport, settle: Settle): EventStream {
  let last: JsonObject | null = null
  let isDone = false
  /** The latest two pieces: one may have nothing but `[DONE]`. */
  let latest: Uint8Array = Buffer.alloc(0)
  let former = latest

  /** What of a piece goes out at once. */
  function visible (piece: Uint8Array): Uint8Array {
    former = latest
    latest = piece
    if (report.usage === null && !report.hasUsage && !endsWithBracket(piece)) return piece
    const kept: Buffer[] = []
    for (const { event, data } of eventsIn(Buffer.from(piece))) {
      const chunk = withUsage(data)
      if (data === '[DONE]') isDone = true
      else if (chunk === null) kept.push(eventOf(event, data))
      else {
        last = { ...chunk, choices: [] }
        const hasChoices = Array.isArray(chunk.choices) && chunk.choices.length > 0
        if (hasChoices) kept.push(encodeEvent({ ...chunk, usage: null }))
      }
    }
    return Buffer.concat(kept)
  }

  async function end (): Promise<Buffer> {
    if (last === null && !isDone) return Buffer.alloc(0)
    const counted = last === null ? null : { ...Object(last.usage) }
    const chunk = usageChunk(last ?? headIn(latest) ?? headIn(former), counted, await settle())
    return Buffer.concat([...chunk === null ? [] : [encodeEvent(chunk)], ...isDone ? [doneEvent] : []])
  }

  return {
    async * [Symbol.asyncIterator] () {
      for await (const piece of events) yield visible(piece)
      yield await end()
    },
    async pipeTo (sink) {
      await events.pipeTo({
        write (piece) {
          const now = visible(piece)
          return now.length === 0 || sink.write(now)
        },
        drained: () => sink.drained()
      })
      sink.write(await end())
    }
  }
}

/** The first chunk in a piece of a stream. */
function headIn (piece: Uint8Array): JsonObject | null {
  for (const { data } of eventsIn(Buffer.from(piece))) {
    const chunk = chunkIn(data)
    if (chunk !== null && Array.isArray(chunk.choices)) return chunk
  }
  return null
}

const closingBracket = 0x5d

/** Whether a piece may end with `data: [DONE]`. */
function endsWithBracket (piece: Uint8Array): boolean {
  return piece[piece.length - 3] === closingBracket
}

/** The chunk in the data of an event if it has usage, else null. */
function withUsage (data: string): JsonObject | null {
  if (!/"usage":\s*\{/.test(data)) return null
  const chunk = chunkIn(data)
  return isObject(chunk?.usage) ? chunk : null
}

/** The object in the data of an event; null for anything else, which is the provider's fault and passes. */
function chunkIn (data: string): JsonObject | null {
  try {
    const chunk: unknown = JSON.parse(data)
    return isObject(chunk) ? chunk : null
  } catch {
    return null
  }
}

function eventOf (event: string, data: string): Buffer {
  const name = event === 'message' ? '' : `event: ${event}\n`
  return Buffer.from(`${name}${data.split('\n').map(line => `data: ${line}\n`).join('')}\n`)
}
