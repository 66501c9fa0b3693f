import { request } from 'undici'
import t, { type Test } from 'tap'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import type { ModelConfig, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { refusal, reply, scripts, startUpstream, type Script, type Upstream } from '../../servers/upstream.ts'

interface Shop { gateway: Gateway, upstream: Upstream }

const price = {
  inputPico: 1_000_000,
  outputPico: 4_000_000,
  cacheReadPico: 250_000,
  cacheWritePico: null,
  imageNano: null,
  secondNano: null
}
const messages = [{ role: 'user', content: 'Hello, world!' }]

async function openShop (t: Test, model: Partial<ModelConfig> = {}, provider: Partial<ProviderConfig> = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = configFor(providerAt(upstream.url, provider), { price, maxOutput: 1000, ...model })
  return { gateway: await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1' } }), upstream }
}

async function post ({ gateway }: Shop, body: object, path = '/chat/completions') {
  const answer = await request(gateway.url + path, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', messages, ...body })
  })
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

async function billing ({ gateway }: Shop) {
  const answer = await request(`${gateway.url}/dashboard/billing`, { headers: gateway.headers })
  return await answer.body.json() as { balance: number, total_spent: number, available: number, held: number }
}

interface EntryRow { amount: number, kind: string, estimated: number, ref: string }

const entriesOf = async ({ gateway }: Shop) => {
  await gateway.app.ledger.flush()
  return await gateway.app.store.all<EntryRow>(
    "select amount, kind, estimated, ref from entry where kind = 'usage' order by seq")
}

/** 8 prompt tokens at 1 µ$ and 377 completion tokens at 4 µ$: the upstream's default usage. */
const usualNano = 8 * 1000 + 377 * 4000

t.test('an answer is charged by the provider\'s usage, whole or streamed', async t => {
  const shop = await openShop(t)
  const whole = await post(shop, {})
  t.equal(whole.headers['x-tollgate-cost'], '0.001516')
  t.match(await billing(shop), { balance: 0.998484, total_spent: 0.001516, available: 0.998484, held: 0 })
  await post(shop, { stream: true })
  t.match(await billing(shop), { balance: 1 - 0.003032, total_spent: 0.003032 })
  const entries = (await entriesOf(shop)).map(({ amount, estimated }) => [amount, estimated])
  t.strictSame(entries, [[usualNano, 0], [usualNano, 0]])
  t.match(await shop.gateway.line(({ costUsd }) => costUsd !== undefined), { costUsd: 0.001516 })
})

t.test('cached tokens have their own price, zero usage is free, n choices are charged', async t => {
  const shop = await openShop(t)
  shop.upstream.script(reply({ usage: { prompt: 100, completion: 10, cached: 80, reasoning: 7 } }))
  t.equal((await post(shop, {})).headers['x-tollgate-cost'], '0.00008')
  shop.upstream.script(reply({ usage: { prompt: 0, completion: 0 } }))
  t.equal((await post(shop, {})).headers['x-tollgate-cost'], '0')
  shop.upstream.script(reply({ usage: { prompt: 10, completion: 30 } }))
  t.equal((await post(shop, { n: 3 })).headers['x-tollgate-cost'], '0.00013')
  t.equal((await entriesOf(shop)).length, 3, 'what costs nothing is booked too')
})

for (const [completion, usdPerMillion, excessUsd] of [
  [4_294_967_295, 0.6, 2576.98], [1e8, 10, 1000], [1e9, 10, 10_000]
] as const) {
  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'
    t.test(`a wrong count of ${completion} tokens at $${usdPerMillion} costs the account its hold, ${how}`, async t => {
      const wrong = { ...price, inputPico: 150_000, cacheReadPico: null, outputPico: usdPerMillion * 1e6 }
      const shop = await openShop(t, { price: wrong, maxOutput: null, contextWindow: null })
      shop.upstream.script(reply({ usage: { prompt: 8, completion } }))
      const answer = await post(shop, { max_tokens: 100, stream })
      const { balance, held, total_spent: spent } = await billing(shop)
      t.equal(answer.status, 200)
      t.match(answer.text, /there!/)
      if (!stream) t.equal(Number(answer.headers['x-tollgate-cost']), spent)
      t.ok(spent > 0 && spent < 0.01, `$${spent} of $1 are spent`)
      t.equal(held, 0)
      t.equal(balance, Number((1 - spent).toFixed(9)))
      const { app } = shop.gateway
      const suspended = await app.store.all<{ amount: number }>("select amount, reason from entry where kind = 'suspense'")
      t.match(suspended, [{ reason: 'over_hold' }])
      t.ok(Math.abs((suspended[0]?.amount ?? 0) / 1e9 - excessUsd) < 0.01 * excessUsd, `$${(suspended[0]?.amount ?? 0) / 1e9}`)
      t.match(await shop.gateway.line(({ msg }) => /cost more than its hold/.test(String(msg))), { reason: 'over_hold' })
      t.equal(app.ledger.overageCount, 1)
      t.same(await checkLedger(app.store), [])
    })
  }
}

t.test('a long prompt has the price of its tier, and audio tokens have their own price', async t => {
  const tiers = [{ aboveTokens: 1000, inputPico: 2_000_000, outputPico: 6_000_000 }]
  const shop = await openShop(t, { price: { ...price, audioInputPico: 3_000_000, tiers } })
  shop.upstream.script(reply({ usage: { prompt: 1001, completion: 10 } }))
  t.equal((await post(shop, {})).headers['x-tollgate-cost'], '0.002062')
  shop.upstream.script(reply({ usage: { prompt: 100, completion: 10 } }, {
    completion: ({ usage, ...answer }) => {
      return { ...answer, usage: { ...usage, prompt_tokens_details: { audio_tokens: 60 } } }
    }
  }))
  t.equal((await post(shop, {})).headers['x-tollgate-cost'], '0.00026')
})

t.test('a request that fails before any output is free', async t => {
  const shop = await openShop(t)
  const failures: Script[] = [
    refusal(400), refusal(429), refusal(500),
    scripts.resetBeforeHeaders(), scripts.malformedJson(), scripts.errorIn200()
  ]
  for (const script of failures) {
    shop.upstream.script(script)
    t.not((await post(shop, {})).status, 200)
  }
  shop.upstream.script(scripts.errorAfter(0), scripts.errorAfter(1))
  await post(shop, { stream: true })
  await post(shop, { stream: true })
  t.match(await billing(shop), { balance: 1, total_spent: 0, held: 0 })
})

t.test('an answer that breaks off or has no usage is charged by an estimate, marked as such', async t => {
  const shop = await openShop(t)
  shop.upstream.script(scripts.noUsage(), scripts.noUsage(), scripts.resetAfter(5))
  const answers = []
  for (const stream of [false, true, true]) answers.push(await post(shop, { stream }))
  let entries = await entriesOf(shop)
  while (entries.length < 3) entries = await entriesOf(shop)
  t.ok(entries.every(({ estimated }) => estimated === 1))
  const [whole, streamed, broken] = entries.map(({ amount }) => amount)
  t.equal(whole, streamed, 'the same text costs the same either way')
  t.equal(Number(answers[0]?.headers['x-tollgate-cost']) * 1e9, whole, 'and its client is told what')
  t.ok(Number(broken) > 8000 && Number(broken) < Number(streamed))
  t.equal((await billing(shop)).held, 0)
})

t.test('a client that disconnects pays for the output made for it', async t => {
  const shop = await openShop(t)
  const opened = Promise.withResolvers<void>()
  const cases = [[scripts.stalledAfter(4), true], [scripts.heldUntil(opened.promise), false]] as const
  for (const [script, stream] of cases) {
    shop.upstream.script(script)
    const leaving = new AbortController()
    const answer = request(`${shop.gateway.url}/chat/completions`, {
      method: 'POST',
      headers: shop.gateway.headers,
      body: JSON.stringify({ model: 'chat', messages, stream }),
      signal: leaving.signal
    })
    const seen = await shop.upstream.nextRequest()
    if (stream) await (await answer).body[Symbol.asyncIterator]().next()
    leaving.abort()
    await answer.catch(() => {})
    if (!stream) opened.resolve()
    await seen.closed
  }
  let entries = await entriesOf(shop)
  while (entries.length < 2) entries = await entriesOf(shop)
  const [streamed, whole] = entries
  t.ok(streamed?.estimated === 1 && streamed.amount >= 8000)
  t.match(whole, { estimated: 0, amount: usualNano }, 'a whole answer is awaited without its client')
  t.equal((await billing(shop)).held, 0)
})

t.test('an account without money gets a 402 that names balance, held and needed, and is not retried', async t => {
  const shop = await openShop(t)
  const { status, headers, text } = await post(shop, { max_tokens: 1000, n: 128 })
  t.equal(status, 200, 'a cent more than half a dollar is there')
  t.equal(headers['x-should-retry'], undefined)
  t.ok(text)
  const poor = await openShop(t, { price: { ...price, outputPico: 2_000_000_000 } })
  const refused = await post(poor, { max_tokens: 1000 })
  t.equal(refused.status, 402)
  t.equal(refused.headers['x-should-retry'], 'false')
  const { error } = JSON.parse(refused.text)
  t.match(error, { type: 'insufficient_quota', code: 'insufficient_quota' })
  t.match(error.message, /\$2\.\d+.*\$1\.00.*held/)
  t.equal(poor.upstream.requests.length, 0, 'the provider was not called')
})

t.test('an account with little money gets answers of the usual length, then none, and never goes below zero', async t => {
  const shop = await openShop(t, { price: { ...price, outputPico: 200_000_000 }, maxOutput: 5000 })
  const limits: unknown[] = []
  let status = 200
  for (let i = 0; i < 200 && status === 200; i++) {
    shop.upstream.script(exchange => {
      const limit = Number(exchange.request.body?.max_tokens)
      limits.push(limit)
      return reply({ usage: { prompt: 8, completion: limit } })(exchange)
    })
    const { status: answered, headers } = await post(shop, {})
    status = answered
    if (status === 200) t.equal(headers['x-tollgate-max-tokens'], String(limits.at(-1)), 'the client sees its limit')
  }
  t.equal(status, 402)
  t.equal(limits[0], 2499, 'half a dollar')
  t.ok(limits.every(limit => Number(limit) >= 1024), 'what most answers need')
  const { balance, total_spent: spent } = await billing(shop)
  t.ok(balance >= 0 && balance < 0.206, 'too little for that')
  t.equal(Math.round((balance + spent) * 1e9), 1e9)
})

t.test('a model without a price is refused, one with the price 0 is free', async t => {
  const unpriced = await openShop(t, { price: null })
  const refused = await post(unpriced, {})
  t.equal(refused.status, 400)
  t.match(JSON.parse(refused.text).error, { code: 'model_not_priced', param: 'model' })
  t.equal(unpriced.upstream.requests.length, 0)
  const free = await openShop(t, { price: { ...price, inputPico: 0, outputPico: 0, cacheReadPico: 0 } })
  t.equal((await post(free, {})).status, 200)
  t.match(await billing(free), { balance: 1, total_spent: 0 })
})

t.test('two output limits cost no more than the lower one', async t => {
  for (const dialect of ['compatible', 'vllm', 'llamacpp', 'openrouter', 'groq', 'xai', 'gemini', 'ollama']) {
    const shop = await openShop(t, { maxOutput: null, contextWindow: null }, { dialect })
    shop.upstream.always(exchange => {
      const { n_predict: own, max_tokens: older, max_completion_tokens: newer } = exchange.request.body ?? {}
      return reply({ usage: { prompt: 8, completion: Number(own ?? older ?? newer) } })(exchange)
    })
    const bodies = [
      { max_tokens: 10_000, max_completion_tokens: 1 }, { max_tokens: 1, max_completion_tokens: 10_000 },
      { max_tokens: 1, n_predict: 9000 }, { max_completion_tokens: 1, options: { num_predict: 9000 } }
    ]
    const answers = await Promise.all(bodies.map(body => post(shop, body)))
    t.same(answers.map(({ headers }) => headers['x-tollgate-cost']), bodies.map(() => '0.000012'), dialect)
    t.match(await billing(shop), { total_spent: 4 * 0.000012, held: 0 })
  }
})

t.test('legacy completions are charged the same, mapped to chat or not', async t => {
  for (const dialect of ['compatible', 'groq']) {
    const shop = await openShop(t, {}, { dialect })
    shop.upstream.always(reply({ usage: { prompt: 5, completion: 10 } }))
    const body = { messages: undefined, prompt: ['a', 'b'] }
    t.equal((await post(shop, body, '/completions')).status, 200)
    const calls = dialect === 'groq' ? 2 : 1
    t.equal((await billing(shop)).total_spent, calls * 0.000045)
    await post(shop, { ...body, stream: true }, '/completions')
    t.equal((await billing(shop)).total_spent, calls * 0.00009)
    const limits = shop.upstream.requests.map(({ body }) => body?.max_tokens ?? body?.max_completion_tokens)
    t.ok(limits.every(limit => limit === 16))
  }
})
