import type { ModelConfig } from '../../config/catalogue/types.ts'
import type { Delivery, NativeDelivery } from '../../requests/delivery.ts'
import type { Exchange } from '../../requests/exchange.ts'
import { cacheHeader, type CacheControl } from '../../requests/request-headers.ts'
import type { Chat } from '../types.ts'
import { withoutCost } from '../reply-chat.ts'
import type { CachedResponse, CachedResponses } from './cached-responses.ts'
import { recording } from './recorder.ts'
import { isDeterministic, requestKey, type KeyedRequest } from './request-key.ts'

interface CachedChatOptions {
  chat: Chat
  answers: CachedResponses
  /** Called for each request, because the configuration may change. */
  resolve: (model: string) => { model: ModelConfig } | undefined
  clock?: () => number
}

interface Cacheable {
  model: string
  temperature?: number | null
  seed?: number | null
  stream?: boolean | null
}

type Serve<Request> = (exchange: Exchange<Request>) => Promise<void>

const defaultTtlMs = 3_600_000

/**
 * A chat that answers a repeated request from the cache, free of charge: if the client or the model's
 * configuration asks for it, and the request is deterministic.
 */
export function createCachedChat (options: CachedChatOptions): Chat {
  const { chat, answers: responses, resolve, clock = Date.now } = options

  function serve<Request extends Cacheable> (
    { endpoint, more }: Pick<KeyedRequest, 'endpoint' | 'more'>, exchange: Exchange<Request>, serveNew: Serve<Request>
  ): Promise<void> {
    const control = cacheControlOf(exchange, resolve(exchange.body.model)?.model)
    if (control === null) return serveNew(exchange)
    if (!isDeterministic(exchange.body) || !(control.read || control.store)) {
      return serveNew({ ...exchange, delivery: labelled(exchange.delivery, 'bypass') })
    }
    const { body, payer: { chain: [account = ''] }, record } = exchange
    const key = requestKey({ account, endpoint, request: body, more })
    const cached = control.read ? responses.get(key) : undefined
    const nowMs = clock()
    const maxAgeMs = control.maxAgeMs ?? Infinity
    if (cached !== undefined && mayGet(cached, exchange) && nowMs - cached.atMs < maxAgeMs) {
      return replay(cached, exchange, nowMs)
    }
    const delivery = recording(labelled(exchange.delivery, 'miss'), responses.maxAnswerBytes, response => {
      const { model, provider, upstreamModel, failure } = record
      if (!control.store || model === null || failure !== null) return
      const ttlMs = control.maxAgeMs ?? defaultTtlMs
      // A native answer contains no cost yet: the gateway adds it on delivery.
      const bytes = response.isNative ? response.bytes : withoutCost(response.kind, response.bytes)
      responses.set(key, { ...response, bytes, model, provider, upstreamModel, atMs: clock() }, ttlMs)
    })
    return serveNew({ ...exchange, delivery })
  }

  /** A model that was removed, or that the key may not use any more, is not served from the cache either. */
  function mayGet (cached: CachedResponse, { mayUse }: Exchange<Cacheable>): boolean {
    return resolve(cached.model) !== undefined && mayUse(cached.model)
  }

  return {
    complete: (exchange, native) => native?.narrow === undefined
      ? serve({ endpoint: 'chat', more: native?.cacheKey }, exchange, exchange => chat.complete(exchange, native))
      : chat.complete(exchange, native),
    completeText: exchange => serve({ endpoint: 'completions' }, exchange, exchange => chat.completeText(exchange)),
    idle: () => chat.idle()
  }
}

/** What the client asks for, else what the model's configuration says; null: neither asks for the cache. */
function cacheControlOf (
  { cache }: Exchange<Cacheable>, model: ModelConfig | undefined
): CacheControl | null {
  const maxAgeMs = model?.cacheSeconds == null ? null : model.cacheSeconds * 1000
  if (cache !== null) return { ...cache, maxAgeMs: cache.maxAgeMs ?? maxAgeMs }
  return maxAgeMs === null ? null : { read: true, store: true, maxAgeMs }
}

function labelled (delivery: Delivery, label: string): Delivery {
  const { native } = delivery
  return {
    ...delivery,
    ...(native === undefined ? {} : { native: labelledNative(native, label) }),
    json: (headers, body, text) => delivery.json({ ...headers, [cacheHeader]: label }, body, text),
    stream: (headers, events, encodeError) => {
      return delivery.stream({ ...headers, [cacheHeader]: label }, events, encodeError)
    }
  }
}

function labelledNative (native: NativeDelivery, label: string): NativeDelivery {
  const labels = { [cacheHeader]: label }
  return {
    json: (headers, body, text, settled) => native.json({ ...headers, ...labels }, body, text, settled),
    stream: (headers, events, settle) => native.stream({ ...headers, ...labels }, events, settle)
  }
}

async function replay (
  cached: CachedResponse, { body, record, delivery }: Exchange<Cacheable>, nowMs: number
): Promise<void> {
  record.requestedModel = body.model
  record.model = cached.model
  record.provider = cached.provider
  record.upstreamModel = cached.upstreamModel
  record.costNano = 0
  const headers = {
    ...cached.headers,
    'x-tollgate-attempts': '0',
    'x-tollgate-cost': '0',
    age: String(Math.max(0, Math.floor((nowMs - cached.atMs) / 1000))),
    [cacheHeader]: 'hit'
  }
  const free = { costNano: 0, estimate: null }
  const { native } = delivery
  if (cached.isNative && native !== undefined) {
    if (cached.kind === 'events') return await native.stream(headers, eventsOf(cached.bytes), async () => free)
    const text = Buffer.from(cached.bytes).toString()
    return await native.json(headers, JSON.parse(text), text, free)
  }
  if (cached.kind === 'json') return delivery.json(headers, null, Buffer.from(cached.bytes).toString())
  await delivery.stream(headers, eventsOf(cached.bytes))
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
