import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { breakerDefaults, requestsDefaults } from '../../services/config/defaults.ts'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { price } from '../helpers/faults.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import type { Random } from '../services/billing/ledger/random.ts'
import { refusal, reply, retryAfter, scripts, startUpstream, type Script, type Upstream } from '../servers/upstream.ts'

/** What came of the requests of one run. */
export interface Outcome {
  /** Requests of the keys whose prompts are harmless, by status; `broken`: a stream that has no end. */
  good: Map<Result, number>
  /** The same, of the key whose prompts make every server fail. */
  poison: Map<Result, number>
  /** What the clients with harmless prompts got instead of an answer. */
  failures: Failure[]
  /**
   * Calls with harmless prompts: of `flaky` from when the other one became slow, of `slow` from then on
   * while the breaker of `flaky` was not open.
   */
  calls: Record<'flaky' | 'slow' | 'lone', number>
  /** The states of the circuit breakers at the end. */
  states: Record<string, string>
}

type Result = number | 'broken'

interface Failure {
  request: string
  model: string
  result: Result
  code: unknown
  message: unknown
  /** The states of the circuit breakers when the answer came. */
  states: Record<string, string>
  /** What the gateway has logged of it. */
  log: Record<string, unknown>[]
}

interface LoadOptions {
  random: Random
  /** Requests of each client with harmless prompts. */
  requests: number
  clients: number
}

const poisonous = 'poison'
/** How long the slow provider takes at least, and how many times as long as requests have taken before. */
const slow = { minMs: 400, times: 4 }

/**
 * Sends requests of several keys, one of which sends only prompts that every server answers with 500, to two
 * models: one at a provider that fails three calls in ten and one that becomes slow, and one at a single
 * provider.
 */
export async function sendUnfairLoad (
  t: { teardown (work: () => unknown): void }, { random, requests, clients }: LoadOptions
): Promise<Outcome> {
  const upstreams = { flaky: await startUpstream(), slow: await startUpstream(), lone: await startUpstream() }
  t.teardown(() => Promise.allSettled(Object.values(upstreams).map(upstream => upstream.close())))
  const gateway = await startGateway(t, {
    config: configOf(upstreams), env: { TOLLGATE_STARTING_CREDIT: '1000' }
  })
  const newKey = async (label: string) => (await gateway.app.keys.create({ account: 'default', label })).key
  const poisoner = await newKey('poison')
  const keys = await Promise.all(Array.from({ length: clients }, (_, index) => newKey(`client ${index}`)))
  const outcome = { good: new Map<Result, number>(), poison: new Map<Result, number>() }
  const failures: Failure[] = []
  const statesNow = (): Record<string, string> => Object.fromEntries(gateway.app.deployments.list()
    .map(({ name, breaker }) => [name.provider, breaker.state(performance.now())]))

  /** Resolves with the time that the request took, in ms. */
  async function send (key: string, text: string, results: Map<Result, number>): Promise<number> {
    const startedMs = performance.now()
    const body = {
      model: random.next() < 0.5 ? 'chat' : 'lone',
      messages: [{ role: 'user', content: text }],
      stream: random.next() < 0.5
    }
    const counts = random.next() < 0.5 ? { 'x-stainless-retry-count': '0' } : {}
    const { statusCode, headers, body: answer } = await request(`${gateway.url}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...counts },
      body: JSON.stringify(body)
    })
    const received = await answer.text()
    const result = statusCode === 200 && body.stream && !received.endsWith('data: [DONE]\n\n') ? 'broken' : statusCode
    results.set(result, (results.get(result) ?? 0) + 1)
    if (result !== 200 && results === outcome.good) {
      const { code, message } = errorIn(received)
      const id = String(headers['x-request-id'])
      failures.push({ request: id, model: body.model, result, code, message, states: statesNow(), log: [] })
    }
    return performance.now() - startedMs
  }

  const over = new AbortController()
  const poisoning = Array.from({ length: 4 }, async () => {
    while (!over.signal.aborted) await send(poisoner, poisonous, outcome.poison)
  })
  upstreams.flaky.always(script(random, 0.3))
  upstreams.lone.always(script(random, 0))
  upstreams.slow.always(script(random, 0))
  const sendAll = async (count: number): Promise<number[]> => {
    const took = await Promise.all(keys.map(async key => {
      const own: number[] = []
      while (own.length < count) own.push(await send(key, `Question ${own.length}`, outcome.good))
      return own
    }))
    return took.flat().toSorted((one, other) => one - other)
  }
  const fastRequests = Math.floor(requests / 3)
  const took = await sendAll(fastRequests)
  const usualMs = took[Math.floor(took.length * 0.9)] ?? 0
  const flakyBefore = harmless(upstreams.flaky)
  const flaky = gateway.app.deployments.of({ provider: 'flaky', model: 'm' })
  const slowly = script(random, 0, Math.max(slow.minMs, slow.times * usualMs))
  let slowCalls = 0
  upstreams.slow.always(exchange => {
    if (isHarmless(exchange.request) && flaky.breaker.state(performance.now()) !== 'open') slowCalls++
    return slowly(exchange)
  })
  await sendAll(requests - fastRequests)
  over.abort()
  await Promise.all(poisoning)
  for (const failure of failures) failure.log = gateway.lines.filter(({ reqId }) => reqId === failure.request)
  return {
    ...outcome,
    failures,
    calls: {
      flaky: harmless(upstreams.flaky) - flakyBefore,
      slow: slowCalls,
      lone: harmless(upstreams.lone)
    },
    states: statesNow()
  }
}

/** The error in an answer, or in the last event of a stream. */
function errorIn (received: string): { code?: unknown, message?: unknown } {
  const [last = ''] = received.trim().split('\n').slice(-1)
  const { error = {} } = JSON.parse(last.replace(/^data: /, ''))
  return error
}

function isHarmless ({ bytes }: Pick<Upstream['requests'][number], 'bytes'>): boolean {
  return !bytes.includes(poisonous)
}

function harmless ({ requests }: Upstream): number {
  return requests.filter(isHarmless).length
}

/** A model `chat` at two providers and a model `lone` at a third one. */
function configOf (upstreams: Record<'flaky' | 'slow' | 'lone', Upstream>): GatewayConfig {
  const timeouts = { connectMs: 5000, firstByteMs: 10_000, idleMs: 10_000, totalMs: 20_000 }
  const providers = Object.entries(upstreams).map(([id, { url }]) => providerAt(url, { id, timeouts }))
  const at = (provider: string) => ({ provider, model: 'm', weight: 1, priority: 0 })
  const base = configFor(providerAt(''), { deployments: [at('flaky'), at('slow')], price, maxOutput: 1000 })
  return {
    ...base,
    providers,
    models: base.models.flatMap(chat => [chat, { ...chat, id: 'lone', deployments: [at('lone')] }]),
    requests: { ...requestsDefaults, backoffMs: 20 },
    breaker: { ...breakerDefaults, failures: 6, openMs: 2000, slowFactor: 3, slowMinMs: slow.minMs / 2 }
  }
}

/** Fails a share of the calls, and every poisonous prompt; answers after a while. */
function script (random: Random, failing: number, afterMs = 0): Script {
  const failures = [
    refusal(500), refusal(502), refusal(503), refusal(529), refusal(429, {}, retryAfter.ms(50)),
    scripts.html(502), scripts.resetBeforeHeaders(), scripts.empty(200), scripts.malformedJson()
  ]
  const answer = reply({ text: 'Hello there' })
  return async exchange => {
    if (exchange.request.bytes.includes(poisonous)) return await refusal(500)(exchange)
    if (random.next() < failing) return await random.pick(failures)?.(exchange)
    if (afterMs > 0) await sleep(afterMs)
    if (!exchange.response.destroyed) await answer(exchange)
  }
}
