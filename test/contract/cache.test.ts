import t, { type Test } from 'tap'
import { request } from 'undici'
import { usdText } from '../../services/shared/money.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { reply, scripts, startUpstream } from '../servers/upstream.ts'

const question = { model: 'chat', temperature: 0, messages: [{ role: 'user', content: 'Hello' }], max_tokens: 50 }
const none = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }
const price = { ...none, inputPico: 1_000_000, outputPico: 2_000_000 }

async function start (t: Test, cacheSeconds?: number) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const more = { price, ...(cacheSeconds === undefined ? {} : { cacheSeconds }) }
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url), more) })
  return { upstream, gateway }
}

async function ask (gateway: Gateway, body: object, cache?: string, path = '/chat/completions') {
  const { statusCode, headers, body: answer } = await request(gateway.url + path, {
    method: 'POST',
    headers: { ...gateway.headers, ...(cache === undefined ? {} : { 'x-tollgate-cache': cache }) },
    body: JSON.stringify(body)
  })
  return { status: statusCode, headers, text: await answer.text() }
}

const spent = async ({ app }: Gateway): Promise<number> => {
  await app.ledger.flush()
  const entries = await app.store.all<{ amount: number }>("select amount from entry where kind = 'usage'")
  return entries.reduce((sum, { amount }) => sum + amount, 0)
}

/** The answer as the cache gives it. */
function free (answer: { usage: object }): object {
  return { ...answer, usage: { ...answer.usage, cost: 0 } }
}

t.test('a repeated request gets the cached answer for free', async t => {
  const { upstream, gateway } = await start(t)
  const first = await ask(gateway, question, 'on')
  t.match(first, { status: 200, headers: { 'x-tollgate-cache': 'miss' } })
  const cost = await spent(gateway)
  t.ok(cost > 0)
  const { messages, ...rest } = question
  const second = await ask(gateway, { messages, ...rest, user: 'somebody' }, 'on')
  t.match(second, {
    status: 200,
    headers: {
      'x-tollgate-cache': 'hit',
      'x-tollgate-cost': usdText(0),
      'x-tollgate-model': 'chat',
      'x-tollgate-provider': 'up',
      'x-tollgate-attempts': '0',
      age: /^\d+$/
    }
  })
  t.same(JSON.parse(second.text), free(JSON.parse(first.text)))
  t.equal(upstream.requests.length, 1)
  t.equal(await spent(gateway), cost)
  t.notMatch(await ask(gateway, question), { headers: { 'x-tollgate-cache': /./ } }, 'only who asks for it gets it')
  t.equal(upstream.requests.length, 2)
})

t.test('a stream is replayed as a stream', async t => {
  const { upstream, gateway } = await start(t)
  const streamed = { ...question, stream: true, stream_options: { include_usage: true } }
  const first = await ask(gateway, streamed, 'on')
  const second = await ask(gateway, streamed, 'on')
  t.match(second.headers, { 'content-type': /^text\/event-stream/, 'x-tollgate-cache': 'hit' })
  const eventsIn = (text: string) => text.trim().split('\n\n').map(event => event.slice('data: '.length))
  const events = eventsIn(first.text)
  t.same(eventsIn(second.text).slice(0, -2), events.slice(0, -2))
  t.same(JSON.parse(eventsIn(second.text).at(-2) ?? ''), free(JSON.parse(events.at(-2) ?? '')))
  t.ok(second.text.endsWith('data: [DONE]\n\n'))
  t.match(await ask(gateway, question, 'on'), { headers: { 'x-tollgate-cache': 'miss' } }, 'a whole answer is another one')
  t.equal(upstream.requests.length, 2)
})

t.test('answers are never shared between accounts', async t => {
  const { upstream, gateway } = await start(t)
  await ask(gateway, question, 'on')
  await gateway.app.accounts.create({ id: 'other' })
  await gateway.app.accounts.deposit({ account: 'other', amountNano: 1_000_000_000, id: 'd1' })
  const { key } = await gateway.app.keys.create({ account: 'other', label: 'other' })
  const other = { ...gateway, headers: { ...gateway.headers, authorization: `Bearer ${key}` } }
  t.match(await ask(other, question, 'on'), { status: 200, headers: { 'x-tollgate-cache': 'miss' } })
  t.equal(upstream.requests.length, 2)
})

t.test('broken, failed and non-deterministic answers are not cached', async t => {
  const { upstream, gateway } = await start(t)
  upstream.script(scripts.empty(500))
  t.match(await ask(gateway, question, 'on'), { status: 502 })
  upstream.script(scripts.resetAfter(2))
  t.match((await ask(gateway, { ...question, stream: true }, 'on')).text, /"error"/)
  upstream.script(reply())
  t.match(await ask(gateway, { ...question, stream: true }, 'on'), { headers: { 'x-tollgate-cache': 'miss' } })
  for (let i = 0; i < 2; i++) {
    t.match(await ask(gateway, { ...question, temperature: 1 }, 'on'), { headers: { 'x-tollgate-cache': 'bypass' } })
  }
})

t.test('a model can be configured for caching, and a client can bypass or renew a cached answer', async t => {
  const { upstream, gateway } = await start(t, 60)
  const labels = []
  for (const wish of [undefined, undefined, 'no-store', 'no-cache', 'max-age=60']) {
    labels.push((await ask(gateway, question, wish)).headers['x-tollgate-cache'])
  }
  t.strictSame(labels, ['miss', 'hit', 'bypass', 'miss', 'hit'])
  t.equal(upstream.requests.length, 3)
  t.match(await ask(gateway, question, 'perhaps'), { status: 400 })
})

t.test('legacy completions are cached too, separately from chat', async t => {
  const { gateway } = await start(t)
  const legacy = { model: 'chat', prompt: 'Hello', seed: 1 }
  const first = await ask(gateway, legacy, 'on', '/completions')
  const second = await ask(gateway, legacy, 'on', '/completions')
  t.match(second, { status: first.status, headers: { 'x-tollgate-cache': 'hit' } })
  t.same(JSON.parse(second.text), free(JSON.parse(first.text)))
})
