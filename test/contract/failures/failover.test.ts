import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { GatewayConfig, ModelConfig } from '../../../services/config/catalogue/types.ts'
import { price } from '../../helpers/faults.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { refusal, reply, retryAfter, scripts, startUpstream, type Script, type Upstream } from '../../servers/upstream.ts'
import { clients } from '../clients.ts'
import { runningMs } from '../../helpers/running-time.ts'

/** A gateway with some providers; clients are the official SDK with its own retries. */
interface Shop {
  gateway: Gateway
  upstreams: Upstream[]
  /** Sends one chat request with a new key or that of an earlier call. */
  ask (more?: Ask): Promise<OpenAI.ChatCompletion>
  calls (): number[]
}
interface Ask { key?: string, model?: string, text?: string, maxRetries?: number }
type More = Partial<Pick<GatewayConfig, 'requests' | 'breaker' | 'policies'>>

const quick = { ...requestsDefaults, backoffMs: 1 }

/**
 * Starts a gateway with the models that `models` makes, by default `chat` with a deployment at each of the
 * providers `up-0`, `up-1`, …, the first one preferred.
 */
async function open (t: Test, count: number, { models = base => [base], ...more }: More & {
  models?: (base: ModelConfig) => ModelConfig[]
} = {}): Promise<Shop> {
  const upstreams = await Promise.all(Array.from({ length: count }, () => startUpstream()))
  for (const upstream of upstreams) t.teardown(() => upstream.close().catch(() => {}))
  const providers = upstreams.map(({ url }, index) => providerAt(url, { id: `up-${index}` }))
  const deployments = providers.map(({ id }, index) => ({ provider: id, model: 'm', weight: 1, priority: index }))
  const base = configFor(providerAt('http://127.0.0.1:9/v1'), { deployments, price, maxOutput: 1000 })
  const own = { providers, models: base.models.flatMap(models), requests: quick, breaker: breakerDefaults }
  const config = { ...base, ...own, ...more }
  const gateway = await startGateway(t, { config })
  return {
    gateway,
    upstreams,
    calls: () => upstreams.map(({ requests }) => requests.length),
    ask: async ({ key = gateway.key, model = 'chat', text = 'Hello', maxRetries = 0 } = {}) =>
      await clients['openai 7']({ url: gateway.url, key }, { maxRetries })
        .chat.completions.create({ model, messages: [{ role: 'user', content: text }] })
  }
}

async function newKey ({ gateway: { app } }: Shop): Promise<string> {
  return (await app.keys.create({ account: 'default', label: 'test' })).key
}

/** A model at one of the providers. */
function at (id: string, provider: number, more: Partial<ModelConfig> = {}) {
  const deployments = [{ provider: `up-${provider}`, model: id, weight: 1, priority: 0 }]
  return (base: ModelConfig): ModelConfig => ({ ...base, id, deployments, ...more })
}

/** Answers 500 to prompts with the word. */
const poisonedBy = (word: string): Script => exchange =>
  (exchange.request.bytes.includes(word) ? refusal(500) : reply())(exchange)

async function failed (asked: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const error: unknown = await asked.then(() => null, error => error)
  if (error instanceof OpenAI.APIError) return error
  throw new Error(`it did not fail as expected: ${error}`)
}

const stateOf = ({ gateway: { app } }: Shop, provider = 'up-0', model = 'm') =>
  app.deployments.of({ provider, model }).breaker.state(performance.now())

t.test('a request counts once for the health of its deployment, however often it is retried', async t => {
  const shop = await open(t, 1)
  shop.upstreams[0]?.always(refusal(500))
  for (let count = 0; count < 9; count++) t.equal((await failed(shop.ask())).status, 502)
  t.same(shop.calls(), [36], 'each was retried three times')
  t.equal(stateOf(shop), 'ready', 'nine are fewer than ten')
})

t.test('poison prompts of one key close a model for no other key', async t => {
  const shop = await open(t, 1)
  shop.upstreams[0]?.always(poisonedBy('poison'))
  const [poisoner, other] = await Promise.all([newKey(shop), newKey(shop)])
  await shop.ask({ key: other })
  for (let count = 0; count < 30; count++) {
    t.equal((await failed(shop.ask({ key: poisoner, text: 'poison' }))).status, 502)
    // Not only after the other key's answer, which would close an open one.
    t.equal(stateOf(shop), 'ready', `after ${count + 1} failures`)
    if (count % 10 === 9) t.ok(await shop.ask({ key: other }))
  }
})

t.test('the only key in use closes a model for itself alone, whatever the others send at once', async t => {
  const shop = await open(t, 1, { breaker: { ...breakerDefaults, openMs: 60_000 } })
  const [upstream] = shop.upstreams
  upstream?.always(poisonedBy('poison'))
  for (let count = 0; count < 10; count++) await failed(shop.ask({ text: 'poison' }))
  t.equal(stateOf(shop), 'open', 'it protects the provider')
  const keys = await Promise.all(Array.from({ length: 12 }, () => newKey(shop)))
  const before = shop.calls()[0] ?? 0
  const all = Promise.withResolvers<void>()
  upstream?.always(async exchange => {
    if ((shop.calls()[0] ?? 0) >= before + keys.length) all.resolve()
    await scripts.heldUntil(all.promise)(exchange)
  })
  const answers = await Promise.all(keys.map(async key => await shop.ask({ key })))
  t.equal(answers.length, 12)
  t.equal(stateOf(shop), 'ready')
})

t.test('nor does `auto` leave a model out for the prompts of another key', async t => {
  const models = (base: ModelConfig) => [
    at('cheap', 0, { price: { ...price, outputPico: 1_000 } }), at('dear', 1)
  ].map(make => ({ ...make(base), quality: { code: 0.5, math: 0.5, chat: 0.5 } }))
  const policies = [{ id: 'auto:cost', models: ['*'], costWeight: 1, latencyWeight: 0, ceilingNano: null }]
  const shop = await open(t, 2, { models, policies })
  shop.upstreams[0]?.always(poisonedBy('poison'))
  const [poisoner, other] = await Promise.all([newKey(shop), newKey(shop)])
  for (let count = 0; count < 10; count++) await failed(shop.ask({ key: poisoner, model: 'cheap', text: 'poison' }))
  t.equal(stateOf(shop, 'up-0', 'cheap'), 'open')
  t.match(await shop.ask({ key: poisoner, model: 'auto:cost' }), { model: 'dear' })
  t.match(await shop.ask({ key: other, model: 'auto:cost' }), { model: 'cheap' })
})

t.test('failures of several keys, and those of the connection, open the circuit breaker', async t => {
  const shop = await open(t, 1, { requests: { ...quick, retries: 0 } })
  shop.upstreams[0]?.always(refusal(500))
  const keys = await Promise.all([newKey(shop), newKey(shop)])
  for (let count = 0; count < 10; count++) {
    t.equal(stateOf(shop), 'ready')
    await failed(shop.ask({ key: keys[count % 2] }))
  }
  t.equal(stateOf(shop), 'open')

  const away = await open(t, 1, { requests: { ...quick, retries: 0 } })
  const [one, two] = await Promise.all([newKey(away), newKey(away)])
  await away.ask({ key: one })
  await away.ask({ key: two })
  await away.upstreams[0]?.close()
  for (let count = 0; count < 10; count++) await failed(away.ask({ key: one }))
  t.equal(stateOf(away), 'open')
})

t.test('the last way to a model is tried, by a bounded number of requests at once', async t => {
  const shop = await open(t, 1, { breaker: { ...breakerDefaults, failures: 2, openMs: 60_000 } })
  const [upstream] = shop.upstreams
  upstream?.always(refusal(500))
  const keys = await Promise.all(Array.from({ length: 20 }, () => newKey(shop)))
  for (const key of keys.slice(0, 2)) await failed(shop.ask({ key }))
  t.equal(stateOf(shop), 'open')
  const held = Promise.withResolvers<void>()
  upstream?.always(scripts.heldUntil(held.promise, refusal(500)))
  const before = shop.calls()[0] ?? 0
  const asked = keys.map(async key => await failed(shop.ask({ key })))
  const statuses = Promise.all(asked.map(async error => (await error).status))
  const refused = await Promise.race(asked)
  t.match(refused, { status: 503, code: 'model_unavailable' })
  t.match(refused.headers?.get('retry-after'), /^\d+$/)
  const concurrent = (shop.calls()[0] ?? 0) - before
  t.ok(concurrent >= 1 && concurrent <= 8, `${concurrent} at once`)
  held.resolve()
  t.ok((await statuses).every(status => status === 503 || status === 502))
  upstream?.always(reply())
  t.ok(await shop.ask({ key: keys[0] }), 'long before the breaker is half-open')
  t.equal(stateOf(shop), 'ready')
})

t.test('a policy goes to another provider at once, and so does a list of fallbacks', async t => {
  const models = (base: ModelConfig) => [
    at('chat', 0, { fallbacks: ['second', 'third', 'other'] }), at('second', 0), at('third', 0), at('other', 1)
  ].map(make => make(base))
  const policies = [{ id: 'auto', models: ['*'], costWeight: null, latencyWeight: null, ceilingNano: null }]
  const shop = await open(t, 2, { models, policies })
  shop.upstreams[0]?.always(refusal(529))
  t.match((await shop.ask()).model, 'other')
  t.same(shop.calls(), [1, 1])
  for (let count = 0; count < 5; count++) await shop.ask({ model: 'auto', text: `Question ${count}` })
  const [atFirst = 0] = shop.calls()
  t.ok(atFirst <= 6, `${atFirst - 1} of five requests began at the provider that fails`)
})

for (const [name, count, more] of [
  ['one deployment', 1, {}],
  ['three deployments', 3, {}],
  ['one deployment that hedges', 2, { requests: { ...quick, hedgeAfterMs: 1 } }],
  ['many retries', 2, { requests: { ...quick, retries: 10 } }]
] as const) {
  t.test(`one call of the SDK makes six calls of providers at most: ${name}`, async t => {
    const shop = await open(t, count, more)
    for (const upstream of shop.upstreams) upstream.always(scripts.slowHeaders(5, refusal(500)))
    t.equal((await failed(shop.ask({ maxRetries: 2 }))).status, 502)
    const total = shop.calls().reduce((sum, calls) => sum + calls)
    t.ok(total >= 3 && total <= 6, `${total} calls`)
  })
}

t.test('a 429 that nothing can replace is answered at once, and the SDK waits for one retry-after', async t => {
  const shop = await open(t, 1)
  const [upstream] = shop.upstreams
  upstream?.always(refusal(429, {}, retryAfter.seconds(3)))
  const startedMs = runningMs()
  const first = await failed(shop.ask())
  t.equal(first.status, 429)
  t.equal(first.headers?.get('retry-after'), '3')
  t.ok(runningMs() - startedMs < 2500)
  t.same(shop.calls(), [1])

  const [againMs, beganMs] = [performance.now(), runningMs()]
  const limited = await failed(shop.ask({ maxRetries: 2 }))
  const [tookMs, ranMs] = [performance.now() - againMs, runningMs() - beganMs]
  t.match([limited.status, limited.headers?.get('retry-after')], [429, '3'])
  t.ok(tookMs >= 2900 && ranMs < 5500, `${tookMs} ms`)
  t.same(shop.calls(), [3])
  t.equal(stateOf(shop), 'paused', 'it is no step towards an open breaker')

  const untilMs = performance.now() + 2900
  upstream?.always(exchange =>
    (performance.now() < untilMs ? refusal(429, {}, retryAfter.seconds(3)) : reply())(exchange))
  t.ok(await shop.ask({ maxRetries: 2 }), 'it works after the time that was asked for')
  t.same(shop.calls(), [5])
})

t.test('a short retry-after is waited for once', async t => {
  const shop = await open(t, 1)
  shop.upstreams[0]?.always(refusal(429, {}, retryAfter.seconds(1)))
  const [startedMs, beganMs] = [performance.now(), runningMs()]
  t.equal((await failed(shop.ask({ maxRetries: 2 }))).status, 429)
  const [tookMs, ranMs] = [performance.now() - startedMs, runningMs() - beganMs]
  t.ok(tookMs >= 990 && ranMs < 2500, `${tookMs} ms`)
  t.same(shop.calls(), [2])
})

t.test('a rate limit never opens the circuit breaker, and sends requests to other deployments', async t => {
  const shop = await open(t, 2, { breaker: { ...breakerDefaults, failures: 1 } })
  shop.upstreams[0]?.always(refusal(429, {}, retryAfter.seconds(30)))
  for (let count = 0; count < 5; count++) t.ok(await shop.ask())
  t.same(shop.calls(), [1, 5])
  t.equal(stateOf(shop), 'paused')
})

t.test('models that a provider does not serve rest, and three of them in a row do not fail `auto`', async t => {
  const models = (base: ModelConfig) => [
    at('gone-0', 0, { price: { ...price, outputPico: 1_000 } }), at('gone-1', 0, { price: { ...price, outputPico: 2_000 } }),
    at('gone-2', 0, { price: { ...price, outputPico: 3_000 } }), at('dear', 0)
  ].map(make => ({ ...make(base), quality: { code: 0.5, math: 0.5, chat: 0.5 } }))
  const policies = [{ id: 'auto:cost', models: ['*'], costWeight: 1, latencyWeight: 0, ceilingNano: null }]
  const shop = await open(t, 1, { models, policies })
  shop.upstreams[0]?.always(exchange =>
    (String(exchange.request.body?.['model']).startsWith('gone') ? refusal(404, { code: 'model_not_found' }) : reply())(exchange))
  t.match((await shop.ask({ model: 'auto:cost', maxRetries: 2 })).model, 'dear')
  const [first = 0] = shop.calls()
  t.equal(first, 4)
  t.match((await shop.ask({ model: 'auto:cost', text: 'Another question' })).model, 'dear')
  t.same(shop.calls(), [first + 1], 'they are left out from then on')
  for (const model of ['gone-0', 'gone-1', 'gone-2']) t.equal(stateOf(shop, 'up-0', model), 'paused')
  t.match(await failed(shop.ask({ model: 'gone-0' })), { status: 404, code: 'model_not_found' }, 'named, it is still tried')
})

t.test('a policy whose models are all failing is served by the first that works again', async t => {
  const policies = [{ id: 'auto', models: ['*'], costWeight: null, latencyWeight: null, ceilingNano: null }]
  const shop = await open(t, 1, { policies, breaker: { ...breakerDefaults, failures: 1, openMs: 60_000 } })
  shop.upstreams[0]?.always(refusal(500))
  await failed(shop.ask({ model: 'auto' }))
  t.equal(stateOf(shop), 'open')
  t.equal((await failed(shop.ask({ model: 'auto' }))).status, 502)
  shop.upstreams[0]?.always(reply())
  t.ok(await shop.ask({ model: 'auto' }))
})

t.test('a deployment that is far slower than usual is left for another one, and is not refused', async t => {
  const breaker = { ...breakerDefaults, failures: 4, slowFactor: 3, slowMinMs: 150 }
  const shop = await open(t, 2, { breaker })
  const keys = await Promise.all([newKey(shop), newKey(shop)])
  const stream = async (index: number) => {
    const client = clients['openai 7']({ url: shop.gateway.url, key: keys[index % 2] ?? '' })
    const chunks = await client.chat.completions.create(
      { model: 'chat', messages: [{ role: 'user', content: 'Hello' }], stream: true })
    for await (const chunk of chunks) if (chunk.choices[0]?.finish_reason != null) return
  }
  for (let index = 0; index < 24; index++) await stream(index)
  t.equal(stateOf(shop), 'ready')
  t.same(shop.calls(), [24, 0])
  shop.upstreams[0]?.always(scripts.slowHeaders(700))
  for (let index = 0; index < 12; index++) await stream(index)
  const [first = 0] = shop.calls()
  t.ok(first >= 28 && first <= 30, `${first - 24} waited for the slow one`)
  t.equal(stateOf(shop), 'paused')
})

t.test('legacy completions, streams and images fail over in the same way', async t => {
  const shop = await open(t, 2)
  shop.upstreams[0]?.always(refusal(529))
  const client = clients['openai 7'](shop.gateway)
  await client.completions.create({ model: 'chat', prompt: 'Hello' })
  t.same(shop.calls(), [1, 1])
  const stream = await client.chat.completions.create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }], stream: true })
  let text = ''
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  t.not(text, '')
  t.same(shop.calls(), [2, 2])
})
