import type { ModelConfig } from '../../config/catalogue/types.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { cacheHeader, type CacheControl } from '../../requests/request-headers.ts'
import type { SentResponse, Settled } from '../../requests/delivery.ts'
import type { AnyRequest, ResponseForms } from '../client-api.ts'
import { sendEvents, sendWhole } from '../reply-chat.ts'
import { chunkWithUsage, withCost } from '../report-cost.ts'
import type { ChatCache } from '../types.ts'
import type { CachedResponse, CachedResponses } from './cached-responses.ts'
import { isDeterministic, requestKey } from './request-key.ts'

interface ChatCacheOptions {
  responses: CachedResponses
  /** Called for each request, because the configuration may change. */
  resolve: (model: string) => { model: ModelConfig } | undefined
  clock?: () => number
}

const defaultTtlMs = 3_600_000

/** Creates the cache of chat: a deterministic request that is repeated gets the response of the first. */
export function createChatCache ({ responses, resolve, clock = Date.now }: ChatCacheOptions): ChatCache {
  /** A model that was removed, or that the key may not use any more, is not served from the cache either. */
  function mayGet (cached: CachedResponse, { mayUse }: Exchange<AnyRequest>): boolean {
    return resolve(cached.model) !== undefined && mayUse(cached.model)
  }

  return {
    async replyOrStore (exchange, api) {
      const { body, payer: { chain: [account = ''] }, record } = exchange
      const control = cacheControlOf(exchange, resolve(body.model)?.model)
      // What a narrowed plan leaves out is no part of the key.
      if (control === null || api.narrow !== undefined) return exchange
      if (!isDeterministic(body) || !(control.read || control.store)) return labelled(exchange, 'bypass')
      const key = requestKey({ account, endpoint: api.name, request: body, more: api.cacheKey })
      const cached = control.read ? responses.get(key) : undefined
      const nowMs = clock()
      const maxAgeMs = control.maxAgeMs ?? Infinity
      if (cached !== undefined && mayGet(cached, exchange) && nowMs - cached.atMs < maxAgeMs) {
        await replyFrom(cached, exchange, api, nowMs)
        return null
      }

      function store (response: SentResponse): void {
        const { model, provider, upstreamModel, failure } = record
        if (model === null || failure !== null) return
        const ttlMs = control?.maxAgeMs ?? defaultTtlMs
        // A native response has no cost yet; its form adds it.
        const bytes = response.isNative ? response.bytes : withoutCost(response)
        responses.set(key, { ...response, bytes, model, provider, upstreamModel, atMs: clock() }, ttlMs)
      }
      const missed = labelled(exchange, 'miss')
      if (!control.store) return missed
      return { ...missed, listener: { maxBytes: responses.maxResponseBytes, onSent: store } }
    }
  }
}

/** The client's header, else the model's configuration; null: neither enables the cache. */
function cacheControlOf (
  { cache }: Exchange<AnyRequest>, model: ModelConfig | undefined
): CacheControl | null {
  const maxAgeMs = model?.cacheSeconds == null ? null : model.cacheSeconds * 1000
  if (cache !== null) return { ...cache, maxAgeMs: cache.maxAgeMs ?? maxAgeMs }
  return maxAgeMs === null ? null : { read: true, store: true, maxAgeMs }
}

function labelled<Request> (exchange: Exchange<Request>, label: string): Exchange<Request> {
  return { ...exchange, extraHeaders: { ...exchange.extraHeaders, [cacheHeader]: label } }
}

async function replyFrom (
  cached: CachedResponse, exchange: Exchange<AnyRequest>, api: ResponseForms, nowMs: number
): Promise<void> {
  const { body, record } = exchange
  const { kind, bytes, isNative, model, provider, upstreamModel, atMs } = cached
  record.requestedModel = body.model
  Object.assign(record, { model, provider, upstreamModel, costNano: 0 })
  const headers = {
    ...cached.headers,
    'x-tollgate-attempts': '0',
    'x-tollgate-cost': '0',
    age: String(Math.max(0, Math.floor((nowMs - atMs) / 1000))),
    [cacheHeader]: 'hit'
  }
  const settled = { costNano: 0, estimate: null }
  const settle = async (): Promise<Settled> => settled
  const events = eventsOf(bytes)
  if (kind === 'events') return await sendEvents(exchange, api, { headers, isNative, events, settle })
  const text = Buffer.from(bytes).toString()
  await sendWhole(exchange, api, { headers, isNative, whole: { body: JSON.parse(text), text }, settled })
}

/** The bytes of a response, as one that costs nothing. */
function withoutCost ({ kind, bytes }: SentResponse): Uint8Array {
  function free (text: string): string {
    const free = { costNano: 0, estimate: null }
    return JSON.stringify(withCost({ body: JSON.parse(text), text: null }, free).body)
  }
  const text = Buffer.from(bytes).toString()
  if (kind === 'json') return Buffer.from(free(text))
  const start = 'data: '
  const blocks = text.split('\n\n').map(block => {
    const data = block.slice(start.length)
    return block.startsWith(start) && chunkWithUsage(data) !== null ? start + free(data) : block
  })
  return Buffer.from(blocks.join('\n\n'))
}

/** One event at a time, so that a slow reader applies back pressure. */
async function * eventsOf (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n\n', start)
    const next = end === -1 ? text.length : end + 2
    yield text.subarray(start, next)
    start = next
  }
}
