import OpenAI from 'openai'
import t from 'tap'
import { parseConfig } from '../../services/config/read/parse.ts'
import { startGateway } from '../helpers/gateway.ts'
import { startUpstream } from '../servers/upstream.ts'

const upstream = await startUpstream()
t.teardown(() => upstream.close())

const config = parseConfig(`
environment_providers: false
providers:
  - { id: up, base_url: "${upstream.url}", claims: ["claimed-*"] }
models:
  - { id: sold, provider: up, price: { input: 1, output: 2 } }
  - { id: sold-short, provider: up, price: { input: 1, output: 2 }, max_output: 50 }
  - { id: gpt-sold, provider: up, price: { input: 1, output: 2 } }
aliases: { "claude-*": auto, "gpt-*": sold, "claimed-*": sold, "long-*": sold-short }`, {})
const gateway = await startGateway(t, { config })
const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })

const messages = [{ role: 'user' as const, content: 'hello' }]

t.test('a name that is not sold goes to the model of the first alias', async t => {
  for (const name of ['gpt-6.2-sol', 'claimed-without-price']) {
    const { model } = await openai.chat.completions.create({ model: name, messages })
    t.match(model, /^sold/, name)
    t.match(upstream.requests.at(-1)?.body, { model: 'sold' })
  }
})

t.test('a limit that is greater than the longest response of the target becomes that', async t => {
  await openai.chat.completions.create({ model: 'long-winded', messages, max_completion_tokens: 128_000 })
  t.match(upstream.requests.at(-1)?.body, { model: 'sold-short', max_completion_tokens: 50 })
  await openai.chat.completions.create({ model: 'long-winded', messages, max_tokens: 7 })
  t.match(upstream.requests.at(-1)?.body, { max_tokens: 7 })
})

t.test('a name that is sold is never replaced', async t => {
  const { model } = await openai.chat.completions.create({ model: 'gpt-sold', messages })
  t.match(model, /^gpt-sold/)
})

t.test('an alias of a policy works in every API, streamed or not', async t => {
  const response = await openai.responses.create({ model: 'claude-opus-5-5', input: 'hello' })
  t.match(response.model, /^(gpt-)?sold/)
  const stream = await openai.chat.completions.create({ model: 'claude-opus-5-5', messages, stream: true })
  const models = new Set<string>()
  for await (const chunk of stream) models.add(chunk.model)
  t.same([...models].filter(name => !/^(gpt-)?sold/.test(name)), [])
  const message = await fetch(`${gateway.url}/messages`, {
    method: 'POST',
    headers: gateway.headers,
    body: JSON.stringify({ model: 'claude-opus-5-5', max_tokens: 9, messages })
  })
  t.equal(message.status, 200)
  t.ok(message.headers.get('x-tollgate-route'))
})

t.test('the models that a key may use apply to the model that an alias stands for', async t => {
  const { key } = await gateway.app.keys.create({ account: 'default', label: 'narrow', models: ['gpt-sold'] })
  const narrow = new OpenAI({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  await t.rejects(narrow.chat.completions.create({ model: 'gpt-6.2-sol', messages }), { status: 404, code: 'model_not_found' })
  const { model } = await narrow.chat.completions.create({ model: 'claude-opus-5-5', messages })
  t.match(model, /^gpt-sold/, 'auto chooses among those of the key')
})

t.test('a name without an alias does not exist', async t => {
  await t.rejects(openai.chat.completions.create({ model: 'other', messages }), { status: 404, code: 'model_not_found' })
  await t.rejects(openai.chat.completions.create({ model: 'solt', messages }), { message: /Did you mean `sold`\?/ })
})
