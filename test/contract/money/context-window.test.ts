import t, { type Test } from 'tap'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { createDatabase, forEachEngine, type Database } from '../../helpers/engines.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { refusal, reply, startUpstream, type Script } from '../../servers/upstream.ts'

// No configured window bounds a bill: what surely exceeds it is refused, all else is held as it may be.

/** $10 per million tokens. */
const price = { ...emptyPrice, inputPico: 10_000_000, outputPico: 10_000_000 }
const words = (bytes: number): string => 'word '.repeat(bytes / 5)

/** A provider that reads prompts of any length, and counts a token for four bytes. */
const counting: Script = async exchange => {
  const prompt = Math.ceil(exchange.request.bytes.length / 4)
  await reply({ usage: { prompt, completion: 5 } })(exchange)
}

async function openShop (t: Test, { url: database }: Database, credit: string, window: number | null = 1000) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.always(counting)
  const config = configFor(providerAt(upstream.url), { price, contextWindow: window, maxOutput: 100 })
  const { app, url, headers } = await startGateway(t, {
    config, env: { TOLLGATE_STARTING_CREDIT: credit, DATABASE_URL: database }
  })
  const post = async (path: string, body: object) => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST', headers: { ...headers, 'anthropic-version': '2023-06-01' }, body: JSON.stringify(body)
    })
    return { status: response.status, text: await response.text() }
  }
  const suspense = async (): Promise<number> => {
    await app.ledger.flush()
    const [row] = await app.store.all<{ sum: number }>(
      "select coalesce(sum(amount), 0) as sum from entry where kind = 'suspense'")
    return Number(row?.sum)
  }
  return { upstream, post, suspense }
}

const asks: Record<string, (text: string) => [path: string, body: object]> = {
  chat: text => ['/chat/completions', { messages: [{ role: 'user', content: text }], max_tokens: 5 }],
  'a stream': text => ['/chat/completions', { messages: [{ role: 'user', content: text }], max_tokens: 5, stream: true }],
  'parts of a system message': text => ['/chat/completions', {
    messages: [{ role: 'system', content: [{ type: 'text', text }] }, { role: 'user', content: 'Hi' }], max_tokens: 5
  }],
  responses: text => ['/responses', { input: text, max_output_tokens: 16 }],
  'streamed responses': text => ['/responses', { input: text, max_output_tokens: 16, stream: true }],
  messages: text => ['/messages', { messages: [{ role: 'user', content: text }], max_tokens: 5 }],
  'streamed messages': text => ['/messages', { messages: [{ role: 'user', content: text }], max_tokens: 5, stream: true }],
  completions: text => ['/completions', { prompt: text, max_tokens: 5 }],
  'several completions': text => ['/completions', { prompt: ['Hi', text], max_tokens: 5 }]
}

forEachEngine(t, 'a window that a provider names in a refusal is kept', async (t, database) => {
  const { upstream, post } = await openShop(t, database, '100', 100_000)
  upstream.always(refusal(400, {
    message: "This model's maximum context length is 1000 tokens. However, your messages resulted in 10000 tokens.",
    code: 'context_length_exceeded'
  }))
  const ask = async (text: string) => await post('/chat/completions', {
    model: 'chat', messages: [{ role: 'user', content: text }], max_tokens: 5
  })
  t.match(await ask(words(50_000)), { status: 400, text: 'context_length_exceeded' })
  const calls = upstream.requests.length
  t.ok(calls > 0)
  t.match(await ask(words(50_000)), { status: 400, text: /maximum context length is 1000 tokens/ })
  t.equal(upstream.requests.length, calls, 'the second request goes nowhere')
  upstream.always(reply())
  t.match(await ask('Hi'), { status: 200 })
})

forEachEngine(t, 'a prompt that surely exceeds the window is refused, and goes nowhere', async (t, database) => {
  const { upstream, post, suspense } = await openShop(t, database, '100')
  for (const [name, ask] of Object.entries(asks)) {
    const [path, body] = ask(words(40_000))
    const { status, text } = await post(path, { model: 'chat', ...body })
    t.equal(status, 400, name)
    t.match(text, 'context_length_exceeded', name)
    t.match(text, /maximum context length is 1000 tokens/, name)
  }
  t.equal(upstream.requests.length, 0)
  t.equal(await suspense(), 0)
})

forEachEngine(t, 'a prompt that may exceed it is held as long as it may be', async (t, database) => {
  const { upstream, post, suspense } = await openShop(t, database, '0.05')
  const [path, body] = asks.chat?.(words(4000)) ?? ['', {}]
  t.equal((await post(path, { model: 'chat', ...body })).status, 200)
  const long = words(40_000)
  const others = {
    tools: [{ type: 'function', function: { name: 'f', description: long } }],
    response_format: { type: 'json_schema', json_schema: { name: 's', schema: { description: long } } },
    unknown_field: long
  }
  for (const [name, value] of Object.entries(others)) {
    const hi = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 }
    t.equal((await post('/chat/completions', { ...hi, [name]: value })).status, 402, name)
  }
  t.equal(upstream.requests.length, 1)
  t.equal(await suspense(), 0)
})

t.test('no prompt is refused that another tokenizer may fit into the window', async t => {
  const { post } = await openShop(t, await createDatabase(t, 'sqlite'), '1000', 10_000)
  const texts = {
    spaces: ' '.repeat(200_000),
    'one character': 'x'.repeat(60_000),
    'lines of code': '        return value\n'.repeat(1500),
    Georgian: 'გამარჯობა '.repeat(1000),
    'just above, by the tokenizer of another company': words(60_000)
  }
  for (const [name, content] of Object.entries(texts)) {
    const { status } = await post('/chat/completions', { model: 'chat', messages: [{ role: 'user', content }], max_tokens: 5 })
    t.equal(status, 200, name)
  }
  const url = `data:image/png;base64,${Buffer.alloc(400_000).toString('base64')}`
  const content = [{ type: 'image_url', image_url: { url } }]
  t.equal((await post('/chat/completions', { model: 'chat', messages: [{ role: 'user', content }], max_tokens: 5 })).status, 200)
  t.equal((await post('/chat/completions', {
    model: 'chat', messages: [{ role: 'user', content: words(100_000) }], max_tokens: 5, truncate_prompt_tokens: 100
  })).status, 200, 'which the server shortens')
})

t.test('$10 and a window of 128,000 tokens are enough for prompts of 50 kB, several at once', async t => {
  const { post } = await openShop(t, await createDatabase(t, 'sqlite'), '10', 128_000)
  const answers = await Promise.all(Array.from({ length: 8 }, async () => {
    return await post('/chat/completions', { model: 'chat', messages: [{ role: 'user', content: words(50_000) }] })
  }))
  t.ok(answers.every(({ status }) => status === 200))
})

forEachEngine(t, 'once a longer prompt was counted, the window is not relied on', async (t, database) => {
  const { post, suspense, upstream } = await openShop(t, database, '9')
  const film = { type: 'image_url', image_url: { url: 'https://youtu.be/x' } }
  const ask = async () => await post('/chat/completions', {
    model: 'chat', messages: [{ role: 'user', content: [film] }], max_tokens: 5
  })
  upstream.always(reply({ usage: { prompt: 300_000, completion: 5 } }))
  t.equal((await ask()).status, 200)
  t.ok(await suspense() > 0, 'the first one could not be known')
  const before = await suspense()
  t.equal((await ask()).status, 402, 'the next one is held as a million tokens')
  t.equal(await suspense(), before)
})

forEachEngine(t, 'once an answer was longer than its limit, the longest one is held', async (t, database) => {
  const { post, suspense, upstream } = await openShop(t, database, '1')
  upstream.always(reply({ usage: { prompt: 5, completion: 100 } }))
  const ask = async () => await post('/chat/completions', {
    model: 'chat', messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5
  })
  t.equal((await ask()).status, 200)
  const before = await suspense()
  t.ok(before > 0)
  for (let again = 0; again < 3; again++) t.equal((await ask()).status, 200)
  t.equal(await suspense(), before)
})
