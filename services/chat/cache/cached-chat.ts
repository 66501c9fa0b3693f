import type { Chat } from '../chat.ts'
import type { ModelConfig } from '../../catalogue/types.ts'
import type { KeptAnswer, KeptAnswers } from './answers.ts'
import { recording } from './recorder.ts'
import { isDeterministic, requestKey } from './request-key.ts'
import type { KeyedRequest } from './request-key.ts'
import { cacheHeader } from './cache-control.ts'
import type { Incoming, CacheWish } from '../../requests/incoming.ts'

interface CachedChatOptions {
  chat: Chat
  answers: KeptAnswers
  /** Asked for each request, because the configuration may change. */
  resolve: (model: string) => { model: ModelConfig } | undefined
  /** The time in milliseconds since 1970. */
  clock?: () => number
}

interface Cacheable {
  model: string
  temperature?: number | null
  seed?: number | null
  stream?: boolean | null
}

type Ask<Request> = (incoming: Incoming<Request>) => Promise<void>

const defaultTtlMs = 3_600_000

/**
 * A chat that answers a request it has answered before from memory, free of charge: when the client or the
 * model's configuration wants that, and the request says that its answer is not left to chance.
 */
export function createCachedChat (options: CachedChatOptions): Chat {
  const { chat, answers, resolve, clock = Date.now } = options

  function serve<Request extends Cacheable> (
    endpoint: KeyedRequest['endpoint'], incoming: Incoming<Request>, ask: Ask<Request>
  ): Promise<void> {
    const wish = wishOf(incoming, resolve(incoming.request.model)?.model)
    if (wish === null) return ask(incoming)
    if (!isDeterministic(incoming.request) || !(wish.read || wish.store)) return ask(labelled(incoming, 'bypass'))
    const { request, payer: { chain: [account = ''] }, trace } = incoming
    const key = requestKey({ account, endpoint, request })
    const kept = wish.read ? answers.find(key) : undefined
    const nowMs = clock()
    if (kept !== undefined && mayHave(kept, incoming) && nowMs - kept.atMs < (wish.maxAgeMs ?? Infinity)) {
      return replay(kept, incoming, nowMs)
    }
    const delivery = recording(incoming.delivery, { [cacheHeader]: 'miss' }, answers.maxAnswerBytes, answer => {
      const { model, provider, upstreamModel, failure } = trace
      if (!wish.store || model === null || failure !== null) return
      const ttlMs = wish.maxAgeMs ?? defaultTtlMs
      answers.keep(key, { ...answer, model, provider, upstreamModel, atMs: clock() }, ttlMs)
    })
    return ask({ ...incoming, delivery })
  }

  /** A model that has been taken away, or from this key, is not served from memory either. */
  function mayHave (kept: KeptAnswer, { mayUse }: Incoming<Cacheable>): boolean {
    return resolve(kept.model) !== undefined && mayUse(kept.model)
  }

  return {
    complete: incoming => serve('chat', incoming, incoming => chat.complete(incoming)),
    completeText: incoming => serve('completions', incoming, incoming => chat.completeText(incoming))
  }
}

/** What the client wants, else what the model's configuration says; null: nobody has asked for the cache. */
function wishOf ({ cache }: Incoming<Cacheable>, model: ModelConfig | undefined): CacheWish | null {
  const maxAgeMs = model?.cacheSeconds === undefined ? null : model.cacheSeconds * 1000
  if (cache !== null) return { ...cache, maxAgeMs: cache.maxAgeMs ?? maxAgeMs }
  return maxAgeMs === null ? null : { read: true, store: true, maxAgeMs }
}

function labelled<Request> (incoming: Incoming<Request>, label: string): Incoming<Request> {
  const { json, stream } = incoming.delivery
  const extra = { [cacheHeader]: label }
  return {
    ...incoming,
    delivery: {
      json: (headers, body, text) => json({ ...headers, ...extra }, body, text),
      stream: (headers, events) => stream({ ...headers, ...extra }, events)
    }
  }
}

async function replay (
  kept: KeptAnswer, { request, trace, delivery }: Incoming<Cacheable>, nowMs: number
): Promise<void> {
  trace.asked = request.model
  trace.model = kept.model
  trace.provider = kept.provider
  trace.upstreamModel = kept.upstreamModel
  trace.costNano = 0
  const headers = {
    ...kept.headers,
    'x-tollgate-attempts': '0',
    'x-tollgate-cost': '0',
    age: String(Math.max(0, Math.floor((nowMs - kept.atMs) / 1000))),
    [cacheHeader]: 'hit'
  }
  if (kept.kind === 'json') return delivery.json(headers, null, Buffer.from(kept.bytes).toString())
  await delivery.stream(headers, eventsOf(kept.bytes))
}

/** Event by event, so that a slow reader holds up a long answer as it would hold up a new one. */
async function * eventsOf (bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let start = 0; start < text.length;) {
    const end = text.indexOf('\n\n', start)
    const next = end === -1 ? text.length : end + 2
    yield text.subarray(start, next)
    start = next
  }
}
