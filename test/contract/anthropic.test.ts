import t, { type Test } from 'tap'
import OpenAI from 'openai'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import { usdText } from '../../services/shared/money.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { refusal, reply, startAnthropic } from '../servers/anthropic.ts'
import type { AnthropicServer } from '../servers/anthropic.ts'
import { forgetful, roundTrips, type RunnableTool } from './clients.ts'

interface Pair { gateway: Gateway, server: AnthropicServer }

/** A gateway configured only by a key and a URL, as in `ANTHROPIC_API_KEY=… npm start`. */
async function started (t: Test): Promise<Pair> {
  const server = await startAnthropic()
  t.teardown(() => server.close())
  const env = { ANTHROPIC_API_KEY: 'sk-ant-secret', ANTHROPIC_BASE_URL: new URL(server.url).origin }
  // Nothing is retried, so that each test sees the effect of its script.
  const { requests, breaker } = configFor(providerAt(server.url))
  const config = { ...configFromEnvironment(env), requests, breaker }
  return { server, gateway: await startGateway(t, { env, config }) }
}

const posted = ({ server }: Pair) => server.requests.filter(({ method }) => method === 'POST').map(({ body }) => body)

const usage = {
  input_tokens: 3,
  cache_read_input_tokens: 20,
  cache_creation_input_tokens: 5,
  output_tokens: 90,
  output_tokens_details: { thinking_tokens: 40 }
}
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

// Most tests share one gateway; each looks only at its own requests.
const pair = await started(t)

for (const [name, connect] of Object.entries(roundTrips)) {
  for (const stream of [false, true]) {
    t.test(`${name} talks to Claude, ${stream ? 'streamed' : 'whole'}`, async t => {
      const client = connect(pair.gateway)
      const ask = { prompt: 'Hi', stream }

      pair.server.script(reply({ said: ['Grüße 👩‍👩‍👧‍👦 dort'], usage }))
      t.match(await client.ask({ ...ask, model: 'claude-sonnet-4-6', image: pixel }), {
        text: 'Grüße 👩‍👩‍👧‍👦 dort', finish: 'stop', tokens: { prompt: 28, completion: 90 }
      })
      t.match(posted(pair).at(-1), {
        messages: [{ role: 'user', content: [{ type: 'text' }, { type: 'image', source: { type: 'base64' } }] }]
      })

      pair.server.script(reply({ said: ['Well'], stopReason: 'max_tokens' }))
      t.equal((await client.ask({ ...ask, model: 'anthropic/claude-haiku-4-5' })).finish, 'length')

      const ran: [string, unknown][] = []
      const tools = ['weather', 'time'].map((name): RunnableTool => ({
        name,
        schema: { type: 'object', properties: { city: { type: 'string' } } },
        run: input => {
          ran.push([name, input])
          return `${name} is fine`
        }
      }))
      const calls = [{ tool: 'weather', input: { city: 'Zürich' } }, { tool: 'time' }]
      pair.server.script(
        reply({ said: [{ thinking: 'Two questions.' }, 'I look.', ...calls] }),
        // Thinking is off unless it was requested.
        reply({ said: [...name === forgetful ? [] : [{ thinking: 'Both are fine.' }], 'All fine.'] })
      )
      const heard = await client.ask({ ...ask, model: 'claude-sonnet-4-5', tools, effort: 'low' })
      t.match(heard, { text: 'All fine.', finish: 'stop' })
      t.same(ran.toSorted(), [['time', {}], ['weather', { city: 'Zürich' }]])
      const [first, second] = posted(pair).slice(-2)
      t.match(first, { thinking: { type: 'enabled', budget_tokens: 12_800 }, max_tokens: 64_000 })
      // This client rebuilds tool calls from id, name and arguments; without the thoughts, thinking pauses.
      const isLossy = name === forgetful
      t.equal(second?.thinking === undefined, isLossy)
      t.match(second?.messages, [
        { role: 'user' },
        { role: 'assistant', content: [...isLossy ? [] : [{ type: 'thinking', thinking: 'Two questions.' }], { type: 'text' }, { name: 'weather' }, { name: 'time' }] },
        { role: 'user', content: [{ type: 'tool_result', content: [{ text: 'weather is fine' }] }, { type: 'tool_result' }] }
      ])
      t.equal(heard.reasoning, isLossy ? '' : 'Both are fine.')
    })
  }

  t.test(`${name} gets objects and errors`, async t => {
    const client = connect(pair.gateway)
    const schema = {
      type: 'object', properties: { age: { type: 'integer', minimum: 0 } }, required: ['age'], additionalProperties: false
    }
    pair.server.script(reply({ said: ['{"age": 7}'] }))
    t.same(await client.extract('claude-sonnet-4-6', 'How old?', schema), { age: 7 })
    const format = { type: 'json_schema', schema: { additionalProperties: false } }
    t.match(posted(pair).at(-1), { output_config: { format } })
    const ours = { 401: 502, 402: 502, 403: 502, 500: 502, 504: 504, 529: 503 }
    const theirs = { 400: 400, 404: 404, 413: 413, 429: 429 }
    for (const [status, expected] of Object.entries({ ...ours, ...theirs })) {
      pair.server.script(refusal(Number(status)))
      t.equal(await client.failure('claude-sonnet-4-6'), expected, status)
    }
    t.equal(await client.failure('anthropic/claude-0'), 404, 'a model that its provider does not list')
  })
}

t.test('every token is charged at its price, whole or streamed', async t => {
  const { gateway, server } = await started(t)
  const post = (more: object) => fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify({ model: 'anthropic/claude-sonnet-4-5', messages: [{ role: 'user', content: 'Hi' }], ...more })
  })
  const spent = async () => {
    const answer = await fetch(`${gateway.url}/dashboard/billing`, { headers: gateway.headers })
    return (await answer.text()).match(/"total_spent":\s*([\d.]+)/)?.[1]
  }
  server.script(reply({ usage }), reply({ usage }))
  const whole = await post({ seed: 1 })
  // 3 × $3 + 20 × $0.30 + 5 × $3.75 + 90 × $15, each per million.
  t.equal(whole.headers.get('x-tollgate-cost'), '0.00138375')
  t.equal(whole.headers.get('x-tollgate-dropped-params'), 'seed')
  t.match(Object(await whole.json()).usage, {
    prompt_tokens: 28,
    prompt_tokens_details: { cached_tokens: 20, cache_write_tokens: 5 },
    completion_tokens_details: { reasoning_tokens: 40 }
  })
  t.equal(await spent(), '0.00138375')
  await (await post({ stream: true })).text()
  await gateway.line(() => gateway.lines.filter(({ costUsd }) => costUsd === 0.00138375).length === 2)
  t.equal(await spent(), '0.0027675')
})

t.test('caches for an hour have a price of their own, which is held, charged and booked', async t => {
  const { gateway, server } = await started(t)
  const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const long = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const short = { cache_control: { type: 'ephemeral', ttl: '5m' } }
  const body = {
    model: 'anthropic/claude-sonnet-4-5',
    messages: [
      { role: 'system' as const, content: [{ type: 'text' as const, text: 'Be kind.', ...long }] },
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi', ...short }] }
    ],
    max_tokens: 100
  }
  const counted = {
    input_tokens: 3,
    cache_read_input_tokens: 20,
    cache_creation_input_tokens: 50,
    cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 40 },
    output_tokens: 90
  }
  // 3 × $3 + 20 × $0.30 + 10 × $3.75 + 40 × $6 + 90 × $15, each per million.
  const costNano = 9_000 + 6_000 + 37_500 + 240_000 + 1_350_000
  const details = { cached_tokens: 20, cache_write_tokens: 50, cache_write_1h_tokens: 40 }
  server.script(reply({ usage: counted }), reply({ usage: counted }))

  const { data: whole, response } = await openai.chat.completions.create(body).withResponse()
  t.equal(response.headers.get('x-tollgate-cost'), '0.0016425')
  t.equal(response.headers.get('x-tollgate-dropped-params'), null)
  t.match(whole.usage, { prompt_tokens: 73, prompt_tokens_details: details })
  t.match(posted({ gateway, server }).at(-1), { system: [long], messages: [{ content: [short] }] })
  t.equal(server.requests.at(-1)?.headers['anthropic-beta'], undefined, 'no beta header')
  const streamed = openai.chat.completions.stream({ ...body, stream_options: { include_usage: true } })
  t.match(await streamed.totalUsage(), { prompt_tokens: 73 })
  t.match((await streamed.finalChatCompletion()).usage, { prompt_tokens_details: details })

  await gateway.line(() => gateway.lines.filter(({ costUsd }) => costUsd === 0.0016425).length === 2)
  await gateway.app.ledger.flush()
  const entries = await gateway.app.store.all<{ amount: number, usage: string }>(
    "select amount, usage from entry where kind = 'usage' order by seq")
  t.strictSame(entries.map(({ amount }) => amount), [costNano, costNano])
  const counts = { prompt: 73, completion: 90, cachedRead: 20, cacheWrite: 50, cacheWrite1h: 40 }
  for (const { usage } of entries) t.match(JSON.parse(usage), counts)
})

t.test('a prompt that is all written to a cache for an hour costs no more than was held', async t => {
  const { gateway, server } = await started(t)
  const text = 'word '.repeat(2000)
  const control = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const messages = [{ role: 'user', content: [{ type: 'text', text, ...control }] }]
  const body = JSON.stringify({ model: 'anthropic/claude-sonnet-4-5', messages, max_tokens: 1 })
  const all = body.length
  server.script(reply({
    usage: {
      input_tokens: 0,
      cache_creation_input_tokens: all,
      cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: all },
      output_tokens: 1
    }
  }))
  const answer = await fetch(`${gateway.url}/chat/completions`, { method: 'POST', headers: gateway.headers, body })
  await answer.text()
  t.equal(answer.headers.get('x-tollgate-cost'), usdText(all * 6000 + 15_000), 'all of it')
  await gateway.app.ledger.flush()
  t.same(await gateway.app.store.all("select * from entry where kind = 'suspense'"), [])
})

t.test('models are listed under both names, with prices, from all pages', async t => {
  const { gateway, server } = pair
  server.pageSize = 3
  await gateway.app.models.discover(AbortSignal.timeout(5000))
  const answer = await fetch(`${gateway.url}/models`, { headers: gateway.headers })
  const { data } = Object(await answer.json())
  const model = data.find(({ id }: { id: string }) => id === 'anthropic/claude-sonnet-4-5-20250929')
  const caches = { cache_read: '0.3', cache_write: '3.75', cache_write_1h: '6' }
  t.match(model, { pricing: { input: '3', output: '15', ...caches }, context_window: 200_000 })
  t.equal(data.filter(({ id }: { id: string }) => id.startsWith('anthropic/')).length, 14)
  t.match(gateway.app.models.resolve('claude-opus-4-6')?.deployments, [{ provider: 'anthropic', model: 'claude-opus-4-6' }])
  t.equal(gateway.app.models.resolve('claude-of-tomorrow'), undefined)
})

t.test('legacy completions are mapped to chat', async t => {
  const { gateway, server } = pair
  server.script(reply({ said: ['world'] }))
  const answer = await fetch(`${gateway.url}/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'claude-haiku-4-5', prompt: 'Hello' })
  })
  t.match(await answer.json(), { object: 'text_completion', choices: [{ text: 'world', finish_reason: 'stop' }] })
  t.match(posted(pair).at(-1), { max_tokens: 16, messages: [{ content: [{ text: 'Hello' }] }] })
})
