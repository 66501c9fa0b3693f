import type { ChatCompletionChunk } from '../../schemas/openai/chat-completions.ts'
import type { Completion } from '../../schemas/openai/completions.ts'
import { recordFinish, statedName, type StreamReport } from '../providers/report.ts'
import { doneEvent, encodeEvent, eventsIn } from '../providers/upstream/sse.ts'
import type { Events, Settle, Settled } from '../requests/delivery.ts'
import { isObject, type JsonObject } from '../shared/json.ts'
import { usdFromNano } from '../shared/money.ts'
import type { WholeBody } from './client-api.ts'

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

/** The provider's counts, or the estimate that is charged, with the cost; null if there is neither. */
function usageOf (counted: JsonObject | null, { costNano, estimate }: Settled): JsonObject | null {
  if (counted === null && estimate === null) return null
  const { prompt = 0, completion = 0 } = estimate ?? {}
  const total = prompt + completion
  const estimated = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total }
  return chargedUsage({ ...counted, ...estimate !== null && estimated }, costNano)
}

/** The last chunk of a stream whose client requested usage; null without usage or `head`. */
function usageChunk (head: object | null, counted: JsonObject | null, settled: Settled): JsonObject | null {
  const usage = usageOf(counted, settled)
  return head === null || usage === null ? null : { ...head, choices: [], usage }
}

/** A whole response with its cost, and with the counts that are charged if it has none. */
export function withCost ({ body, text }: WholeBody, settled: Settled): WholeBody {
  const counted: unknown = Reflect.get(body, 'usage')
  const usage = usageOf(isObject(counted) ? counted : null, settled)
  if (usage === null) return { body, text }
  const costed = { ...body, usage }
  return { body: costed, text: text === null ? null : JSON.stringify(costed) }
}

type Chunk = ChatCompletionChunk | Completion

/**
 * Translated chunks as an OpenAI event stream. The last chunk carries the usage: it goes to the client only
 * when that asked for it, in which case all others say `usage: null`.
 */
export async function * encodeChunks (
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
export async function * withCostAtEnd (
  events: Events, report: StreamReport, settle: Settle
): AsyncGenerator<Uint8Array, void, undefined> {
  let last: JsonObject | null = null
  let isDone = false
  /** The latest two pieces: one may have nothing but `[DONE]`. */
  let latest: Uint8Array = Buffer.alloc(0)
  let former = latest
  for await (const piece of events) {
    former = latest
    latest = piece
    if (report.usage === null && !report.hasUsage && !endsWithBracket(piece)) {
      yield piece
      continue
    }
    const kept: Buffer[] = []
    for (const { event, data } of eventsIn(Buffer.from(piece))) {
      const chunk = chunkWithUsage(data)
      if (data === '[DONE]') isDone = true
      else if (chunk === null) kept.push(eventOf(event, data))
      else {
        last = { ...chunk, choices: [] }
        const hasChoices = Array.isArray(chunk.choices) && chunk.choices.length > 0
        if (hasChoices) kept.push(encodeEvent({ ...chunk, usage: null }))
      }
    }
    if (kept.length > 0) yield Buffer.concat(kept)
  }
  if (last === null && !isDone) return
  const counted = last === null ? null : { ...Object(last.usage) }
  const chunk = usageChunk(last ?? headIn(latest) ?? headIn(former), counted, await settle())
  yield Buffer.concat([...chunk === null ? [] : [encodeEvent(chunk)], ...isDone ? [doneEvent] : []])
}

/** The first chunk in a piece of a stream. */
function headIn (piece: Uint8Array): JsonObject | null {
  for (const { data } of eventsIn(Buffer.from(piece))) {
    const chunk = chunkIn(data)
    if (chunk !== null && Array.isArray(chunk.choices)) return chunk
  }
  return null
}

/** Whether a piece may end with `data: [DONE]`. */
function endsWithBracket (piece: Uint8Array): boolean {
  return piece[piece.length - 3] === ']'.charCodeAt(0)
}

/** The chunk in the data of an event if it has usage, else null. */
export function chunkWithUsage (data: string): JsonObject | null {
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
  const lines = data.split('\n').map(line => `data: ${line}\n`)
  return Buffer.from([event === 'message' ? '' : `event: ${event}\n`, ...lines, '\n'].join(''))
}
