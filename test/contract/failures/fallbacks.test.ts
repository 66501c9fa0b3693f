import { request } from 'undici'
import t, { type Test } from 'tap'
import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { DeploymentConfig, GatewayConfig, ModelConfig, Price } from '../../../services/config/catalogue/types.ts'
import { price } from '../../helpers/faults.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { errorsByStatus, refusal, reply, retryAfter, scripts, startUpstream } from '../../servers/upstream.ts'
import type { Script, Upstream } from '../../servers/upstream.ts'
import { generous } from '../../helpers/timeouts.ts'
import { until } from '../../helpers/until.ts'

interface Shop { gateway: Gateway, one: Upstream, two: Upstream }

type More = Partial<Pick<GatewayConfig, 'requests' | 'breaker'>> & {
  models?: (model: ModelConfig) => ModelConfig[]
  deployments?: Partial<DeploymentConfig>[]
}

const cheap: Price = { ...price, inputPico: 500_000, outputPico: 2_000_000 }
const dear: Price = { ...price, inputPico: 2_000_000, outputPico: 8_000_000 }
const usualNano = 8 * 1000 + 377 * 4000
const requests = { ...requestsDefaults, backoffMs: 10 }
/** Never opens in the tests of other features. */
const patient = { ...breakerDefaults, failures: 100 }
const messages = [{ role: 'user', content: 'Hello, world!' }]

/** A model `chat` with a deployment at each of two providers, the first one preferred. */
async function open (t: Test, given: More = {}): Promise<Shop> {
  const { models = model => [model], deployments = [], ...more } = given
  const [one, two] = [await startUpstream(), await startUpstream()]
  for (const upstream of [one, two]) t.teardown(() => upstream.close().catch(() => {}))
  const timeouts = { ...generous, firstByteMs: 1_500, idleMs: 1_500, totalMs: 1_500 }
  const providers = [providerAt(one.url, { id: 'one', timeouts }), providerAt(two.url, { id: 'two', timeouts })]
  const places = providers.map(({ id }, index) => {
    return { provider: id, model: `at-${id}`, weight: 1, priority: index, ...deployments[index] }
  })
  const base = configFor(providerAt(one.url), { deployments: places, price, maxOutput: 1000 })
  const own = { providers, models: base.models.flatMap(models), requests, breaker: patient }
  const config = { ...base, ...own, ...more }
  return { gateway: await startGateway(t, { config }), one, two }
}

async function post ({ gateway }: Shop, body: object = {}, headers: Record<string, string> = {}) {
  const answer = await request(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: { ...gateway.headers, ...headers },
    body: JSON.stringify({ model: 'chat', messages, ...body })
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text }
}

async function charged ({ gateway: { app } }: Shop): Promise<[string, number][]> {
  await app.ledger.flush()
  const rows = await app.store.all<{ model: string, amount: number }>(
    "select model, amount from entry where kind = 'usage' order by seq")
  return rows.map(({ model, amount }) => [model, amount])
}

/** Another model, at the second provider alone. */
function other (id: string, at: Price | null): (model: ModelConfig) => ModelConfig {
  return model => ({
    ...model, id, price: at, deployments: [{ provider: 'two', model: id, weight: 1, priority: 0 }]
  })
}

t.test('a request that fails at one deployment is answered by the next, and the headers say so', async t => {
  const shop = await open(t)
  for (const stream of [false, true]) {
    const failing: Script[] = [
      refusal(401), refusal(503), scripts.html(502), scripts.resetBeforeHeaders(),
      scripts.silent(),
      stream ? scripts.errorAfter(0, { error: errorsByStatus[503] ?? {} }) : scripts.truncatedJson()
    ]
    // From then on the deployment rests.
    if (stream) failing.push(refusal(404))
    for (const script of failing) {
      shop.one.script(script)
      const { status, headers, text } = await post(shop, { stream })
      t.equal(status, 200)
      t.match(headers, { 'x-tollgate-provider': 'two', 'x-tollgate-attempts': '2' })
      t.equal(headers['x-tollgate-upstream-model'], 'at-two')
      if (stream) t.match(text, /\[DONE\]\n\n$/)
    }
  }
  t.strictSame(await charged(shop), Array.from({ length: 13 }, () => ['chat', usualNano]), 'each is charged once')
  const line = await shop.gateway.line(({ msg }) => msg === 'request')
  t.match(line, { provider: 'two', attempts: 2 })
  t.match(await shop.gateway.line(({ msg }) => msg === 'a call of a provider failed'),
    { provider: 'one', model: 'at-one', kind: 'auth', sent: 'yes', status: 401 })
})

t.test('each deployment is charged at its own price', async t => {
  const shop = await open(t, { deployments: [{ price: cheap }, { price: dear }] })
  await post(shop)
  shop.one.script(refusal(500))
  t.equal((await post(shop)).headers['x-tollgate-cost'], '0.003032')
  t.strictSame(await charged(shop), [['chat', usualNano / 2], ['chat', usualNano * 2]])
})

t.test('an invalid request is not tried elsewhere', async t => {
  const shop = await open(t)
  for (const status of [400, 413]) {
    shop.one.script(refusal(status))
    const answer = await post(shop)
    t.equal(answer.status, status)
    t.equal(answer.headers['x-tollgate-attempts'], '1')
  }
  shop.one.script(refusal(400, { code: 'content_policy_violation' }))
  t.equal((await post(shop)).status, 400)
  t.equal(shop.two.requests.length, 0)
})

t.test('a deployment is retried after its retry-after', async t => {
  const shop = await open(t, { models: model => [other('chat', price)(model)] })
  shop.two.script(refusal(429, {}, retryAfter.ms(150)), refusal(503))
  const startedMs = performance.now()
  const { status, headers } = await post(shop)
  t.equal(status, 200)
  t.ok(performance.now() - startedMs >= 145)
  t.equal(headers['x-tollgate-attempts'], '3')
})

t.test('when all deployments fail, the client gets the most useful error', async t => {
  const shop = await open(t)
  shop.one.always(refusal(401))
  shop.two.always(refusal(429, {}, retryAfter.seconds(30)))
  const { status, headers, text } = await post(shop)
  t.equal(status, 429)
  t.equal(headers['retry-after'], '30')
  t.equal(JSON.parse(text).error.code, 'rate_limit_exceeded')
  t.equal(Number(headers['x-tollgate-attempts']), shop.one.requests.length + shop.two.requests.length)
  t.equal(shop.two.requests.length, 1, 'who asks for half a minute is left alone')
  t.strictSame(await charged(shop), [])
})

t.test('a stream that has begun is not retried', async t => {
  const shop = await open(t)
  shop.one.script(scripts.resetAfter(3))
  const { status, text } = await post(shop, { stream: true })
  t.equal(status, 200)
  t.match(text, /"error"/)
  t.notMatch(text, /\[DONE\]/)
  t.equal(shop.two.requests.length, 0)
  let entries = await charged(shop)
  while (entries.length < 1) entries = await charged(shop)
  t.ok(Number(entries[0]?.[1]) > 0, 'what came is paid for')
})

t.test('fallbacks answer at their own price, unless they are more expensive', async t => {
  const models = (model: ModelConfig) => [
    { ...model, deployments: model.deployments.slice(0, 1), fallbacks: ['dear', 'nothing', 'unpriced', 'cheap'] },
    other('dear', dear)(model), other('cheap', cheap)(model), other('unpriced', null)(model)
  ]
  const shop = await open(t, { models, requests: { ...requests, retries: 1 } })
  shop.one.always(refusal(503))
  const { status, headers } = await post(shop)
  t.equal(status, 200)
  t.match(headers, { 'x-tollgate-model': 'cheap', 'x-tollgate-provider': 'two', 'x-tollgate-attempts': '2' })
  t.strictSame(await charged(shop), [['cheap', usualNano / 2]])

  const allowing = { ...requests, retries: 0, allowDearerFallbacks: true }
  const generous = await open(t, { models, requests: allowing })
  generous.one.always(refusal(503))
  t.equal((await post(generous)).headers['x-tollgate-model'], 'dear')
  t.strictSame(await charged(generous), [['dear', usualNano * 2]])
})

t.test('a client can name its own fallbacks, which are not sent to providers', async t => {
  const models = (model: ModelConfig) => [
    { ...model, deployments: model.deployments.slice(0, 1), fallbacks: ['cheap'] },
    other('cheap', cheap)(model), other('alike', price)(model)
  ]
  const shop = await open(t, { models, requests: { ...requests, retries: 0 } })
  shop.one.always(refusal(503))
  t.equal((await post(shop, { fallbacks: ['alike'] })).headers['x-tollgate-model'], 'alike')
  const [seen] = shop.two.requests
  t.same(seen?.body, { model: 'alike', messages })
  t.equal((await post(shop, { fallbacks: [] })).status, 503, 'an empty list means none')
  t.equal((await post(shop, { fallbacks: 'alike' })).status, 400)

  const authorization = `Bearer ${await keyFor(shop, 'chat')}`
  const { status, headers } = await post(shop, { fallbacks: ['alike'] }, { authorization })
  t.equal(status, 503, 'a key gets no model that it may not use')
  t.equal(headers['x-tollgate-model'], undefined)
})

async function keyFor ({ gateway: { app } }: Shop, model: string): Promise<string> {
  const { key } = await app.keys.create({ account: 'default', label: 'one model', models: [model] })
  return key
}

t.test('the circuit breaker of a failing deployment opens, and closes again', async t => {
  const breaker = { ...breakerDefaults, failures: 3, openMs: 150 }
  const limits = { ...requests, retries: 0 }
  const shop = await open(t, { breaker, requests: limits, models: model => [other('chat', price)(model)] })
  shop.two.always(refusal(500))
  for (let i = 0; i < 3; i++) t.equal((await post(shop)).status, 502)
  t.notOk(shop.gateway.app.deployments.isAvailable({ provider: 'two', model: 'chat' }))
  const held = Promise.withResolvers<void>()
  shop.two.always(scripts.heldUntil(held.promise, refusal(500)))
  const [first, ...others] = Array.from({ length: 6 }, async () => {
    const { status, headers, text } = await post(shop)
    return { status, after: headers['retry-after'], code: JSON.parse(text).error.code }
  })
  t.match(await Promise.race([first, ...others]), { status: 503, code: 'model_unavailable', after: /^\d+$/ })
  held.resolve()
  t.ok((await Promise.all([first, ...others])).some(one => one?.status === 502), 'some are tried, as there is no other way')
  shop.two.always(reply())
  await until(() => shop.gateway.app.deployments.isAvailable({ provider: 'two', model: 'chat' }))
  t.equal((await post(shop)).status, 200)
})

t.test('a deployment that recovers while a fallback is tried is called again', async t => {
  const breaker = { ...breakerDefaults, failures: 1, openMs: 20 }
  const models = (model: ModelConfig) => [
    { ...model, deployments: model.deployments.slice(0, 1), fallbacks: ['other'] }, other('other', price)(model)
  ]
  const shop = await open(t, { breaker, requests: { ...requests, retries: 1 }, models })
  shop.one.script(refusal(500))
  shop.two.always(scripts.slowHeaders(100, refusal(401)))
  const { status, headers } = await post(shop)
  t.equal(status, 200)
  t.match(headers, { 'x-tollgate-provider': 'one', 'x-tollgate-attempts': '3' })
})

t.test('a slow deployment is hedged by a second one, and one answer is charged', async t => {
  const shop = await open(t, { requests: { ...requests, hedgeAfterMs: 40 } })
  for (const stream of [false, true]) {
    shop.one.script(scripts.silent())
    const { status, headers } = await post(shop, { stream })
    t.equal(status, 200)
    t.match(headers, { 'x-tollgate-provider': 'two', 'x-tollgate-attempts': '2' })
  }
  for (const { closed, aborted } of shop.one.requests) {
    await closed
    t.type(aborted, 'boolean')
  }
  t.ok(shop.one.requests.every(({ aborted }) => aborted), 'the slow calls were given up')
  t.equal((await charged(shop)).length, 2)
})

t.test('a request that a provider may have processed is not retried if the operator forbids it', async t => {
  const shop = await open(t, { requests: { ...requests, retryUnsure: false } })
  for (const script of [scripts.resetBeforeHeaders(), scripts.silent(), scripts.malformedJson()]) {
    shop.one.script(script)
    t.ok((await post(shop)).status >= 502)
  }
  t.equal(shop.two.requests.length, 0)
  shop.one.script(refusal(503))
  t.equal((await post(shop)).status, 200, 'a refusal was not worked on')
})

t.test('probes notice the failure and the recovery of a provider without requests', async t => {
  const breaker = { ...breakerDefaults, openMs: 60_000, probeEveryMs: 100 }
  const shop = await open(t, { breaker, models: model => [other('chat', price)(model)] })
  await post(shop)
  const { deployments } = shop.gateway.app
  const isAvailable = () => deployments.isAvailable({ provider: 'two', model: 'chat' })
  shop.two.models(scripts.html(502))
  await until(() => !isAvailable())
  shop.two.models(refusal(401))
  await until(isAvailable)
  t.equal(shop.two.requests.filter(({ method }) => method === 'POST').length, 1)
})

t.test('the speed of whole answers and of streams is measured', async t => {
  const shop = await open(t)
  for (const stream of [false, true, true]) await post(shop, { stream })
  const { deployments } = shop.gateway.app
  const seed = { firstTokenMs: 60_000, tokensPerSecond: 1 }
  const measured = deployments.expected('one', 'at-one', seed)
  t.ok(measured.firstTokenMs < 50_000 && measured.tokensPerSecond > 1, JSON.stringify(measured))
  t.equal(Math.round(measured.calls), 3)
  t.match(deployments.expected('two', 'at-two', seed), { calls: 0 })
})
