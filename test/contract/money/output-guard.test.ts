import { once } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import type { ModelConfig, Price } from '../../../services/config/catalogue/types.ts'
import { dialects } from '../../../services/providers/openai/dialects.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { finish, head, reply, send, sequence, startUpstream, type Script } from '../../servers/upstream.ts'

// Servers that ignore an output limit: the gateway stops reading where the hold ends.

/** 1 µ$ per token in, 4 µ$ per token out. */
const price: Price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 4_000_000 }
const messages = [{ role: 'user', content: 'Hi' }]
const guarded = Object.keys(dialects).filter(name => dialects[name]?.outputGuard != null)

async function start (t: Test, dialect: string, model: Partial<ModelConfig> = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const offer = { price, maxOutput: 5000, contextWindow: null, ...model }
  const config = configFor(providerAt(upstream.url, { dialect }), offer)
  const gateway = await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1' } })

  async function post (body: object, path = '/chat/completions') {
    const answer = await request(gateway.url + path, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', messages, stream: true, ...body })
    })
    const text = await answer.body.text()
    const data = text.split('\n\n').filter(block => block.startsWith('data: ')).map(block => block.slice(6))
    const chunks = data.filter(one => one !== '[DONE]').map(one => JSON.parse(one))
    return { status: answer.statusCode, data, chunks, text }
  }

  async function booked () {
    await gateway.app.ledger.flush()
    const sql = "select amount, usage, estimated from entry where kind = 'usage' order by seq"
    const rows = await gateway.app.store.all<{ amount: number, usage: string, estimated: number }>(sql)
    return rows.map(({ amount, usage, estimated }) => ({ amount, usage: JSON.parse(usage), estimated }))
  }
  return { gateway, upstream, post, booked }
}

/** Sends words for ever, one in each event, whatever the limit. */
const endless: Script = async ({ request: { body }, response }) => {
  const isLegacy = body?.messages === undefined
  const head = { id: 'c1', object: isLegacy ? 'text_completion' : 'chat.completion.chunk', created: 1, model: 'm' }
  const said = isLegacy ? { text: 'word ' } : { delta: { content: 'word ' } }
  const event = `data: ${JSON.stringify({ ...head, choices: [{ index: 0, ...said, finish_reason: null }] })}\n\n`
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  while (!response.destroyed) {
    if (response.write(event)) await setImmediate()
    else await Promise.race([once(response, 'drain'), once(response, 'close')])
  }
}

const wordsIn = (chunks: { choices: { delta?: { content?: string }, text?: string }[] }[]): number =>
  chunks.filter(({ choices: [choice] }) => (choice?.delta?.content ?? choice?.text ?? '') !== '').length

for (const dialect of guarded) {
  t.test(`${dialect}: an endless stream ends at the hold, as a server ends it at its limit`, async t => {
    const { upstream, post, booked, gateway } = await start(t, dialect)
    upstream.always(endless)
    for (const includeUsage of [false, true]) {
      const options = { include_usage: includeUsage }
      const { status, chunks, data } = await post({ max_tokens: 100, stream_options: options })
      const seen = await upstream.nextRequest()
      await seen.closed
      t.equal(status, 200)
      t.ok(seen.aborted, 'the upstream call is closed')
      const words = wordsIn(chunks)
      t.ok(words >= 100 && words <= 170, `${words} words`)
      t.equal(data.at(-1), '[DONE]')
      const finish = chunks.filter(({ choices }) => choices[0]?.finish_reason)
      const choices = [{ index: 0, delta: {}, finish_reason: 'length' }]
      t.match(finish, [{ id: 'c1', object: 'chat.completion.chunk', choices }])
      const usage = chunks.at(-1)?.usage
      if (includeUsage) t.match(usage, { completion_tokens: 100, prompt_tokens: Number })
      else t.notOk(usage)
    }
    const entries = await booked()
    t.equal(entries.length, 2)
    for (const { amount, usage, estimated } of entries) {
      t.match({ usage, estimated }, { usage: { completion: 100 }, estimated: 1 })
      t.equal(amount, usage.prompt * 1000 + 100 * 4000, 'no more than the hold, and what the client was told')
    }
    t.match(await gateway.line(({ isCut }) => isCut === true), { isCut: true, completionTokens: 100 })
  })
}

t.test('a stream without a limit ends at what was held for it', async t => {
  const { upstream, post, booked } = await start(t, 'vllm', { maxOutput: 50 })
  upstream.always(endless)
  const { chunks } = await post({})
  t.ok(wordsIn(chunks) >= 50 && wordsIn(chunks) < 60)
  t.match(await booked(), [{ usage: { completion: 50 } }])
})

t.test('legacy completions end likewise, native and mapped to chat', async t => {
  for (const dialect of ['vllm', 'compatible']) {
    const { upstream, post } = await start(t, dialect)
    upstream.always(endless)
    const { chunks, data } = await post({ messages: undefined, prompt: 'Hi', max_tokens: 50 }, '/completions')
    t.ok(wordsIn(chunks) >= 50 && wordsIn(chunks) < 90, dialect)
    t.match(chunks.at(-1), { object: 'text_completion', choices: [{ text: '', finish_reason: 'length' }] })
    t.equal(data.at(-1), '[DONE]')
  }
})

t.test('a server that leaves out `object` gets last events of the right kind all the same', async t => {
  const { upstream, post } = await start(t, 'vllm')
  const event = (said: object) =>
    `data: ${JSON.stringify({ id: 'c1', created: 1, choices: [{ index: 0, ...said, finish_reason: null }] })}\n\n`
  for (const [object, last, path, body, said] of [
    ['chat.completion.chunk', { delta: {} }, '/chat/completions', {}, (content: string) => ({ delta: { content } })],
    ['text_completion', { text: '' }, '/completions', { messages: undefined, prompt: 'Hi' }, (text: string) => ({ text })]
  ] as const) {
    const events = [event(said('word')), event(said('word '.repeat(500)))].map(text => Buffer.from(text))
    upstream.always(sequence(head({ 'content-type': 'text/event-stream' }), send(events), finish))
    const { chunks } = await post({ ...body, max_tokens: 5 }, path)
    t.match(chunks.at(-1), { id: 'c1', created: 1, object, choices: [{ index: 0, ...last, finish_reason: 'length' }] })
  }
})

t.test('a stream that keeps to its limit is never cut, however its server splits it', async t => {
  const text = 'The quick brown fox jumps over the lazy dog. '.repeat(20)
  for (const [dialect, pieces] of [
    ['compatible', [...text]], ['compatible', text.match(/\s*\S+/g) ?? []], ['vllm', text.match(/\s*\S+/g) ?? []],
    ['llamacpp', text.match(/.{1,40}/gs) ?? []], ['ollama', [text]]
  ] as const) {
    const { upstream, post, booked } = await start(t, dialect)
    upstream.always(reply({ text: [...pieces], usage: { prompt: 8, completion: 200 } }))
    const { chunks, data } = await post({ max_tokens: 200 })
    t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), pieces.join(''), dialect)
    t.equal(data.at(-1), '[DONE]')
    t.match(await booked(), [{ amount: 8 * 1000 + 200 * 4000, estimated: 0 }])
  }
})

/** Says words, the n-th with a count of n times `each` tokens. */
const counting = (each: number): Script => reply({ text: Array.from({ length: 50 }, () => 'word ') }, {
  chunks: chunks => chunks.map((chunk, index) => {
    const tokens = index * each
    return { ...chunk, usage: { prompt_tokens: 8, completion_tokens: tokens, total_tokens: 8 + tokens } }
  })
})

t.test('a count of the server above the hold ends the stream too, and is charged', async t => {
  const { upstream, post, booked } = await start(t, 'vllm')
  upstream.always(counting(10))
  const { chunks } = await post({ max_tokens: 100, stream_options: { include_usage: true } })
  t.equal(wordsIn(chunks), 11)
  t.match(chunks.at(-2), { choices: [{ finish_reason: 'length' }] })
  t.match(chunks.at(-1), { choices: [], usage: { prompt_tokens: 8, completion_tokens: 110 } })
  t.match(await booked(), [{ amount: 8000 + 440_000, usage: { prompt: 8, completion: 110 }, estimated: 1 }])
})

for (const [dialect, path] of [['vllm', '/chat/completions'], ['vllm', '/completions'], ['compatible', '/completions']] as const) {
  t.test(`what a cut stream has counted above its hold is in suspense (${dialect}, ${path})`, async t => {
    const { upstream, post, booked, gateway } = await start(t, dialect)
    upstream.always(counting(5000))
    const prompt = path === '/completions' ? { messages: undefined, prompt: 'Hi' } : {}
    const { chunks } = await post({ max_tokens: 1, ...prompt }, path)
    t.ok(wordsIn(chunks) < 50)
    const [entry] = await booked()
    t.match(entry, { usage: { prompt: 8, completion: 5000 }, estimated: 1 })
    const suspended = await gateway.app.store.get<{ nano: number }>(
      "select cast(coalesce(sum(amount), 0) as bigint) as nano from entry where kind = 'suspense'")
    t.equal((entry?.amount ?? 0) + (suspended?.nano ?? 0), 8 * 1000 + 5000 * 4000)
    t.ok((suspended?.nano ?? 0) > 0)
  })
}

t.test('a dialect whose servers obey, a free model and an echoed prompt have no guard', async t => {
  const long = reply({ text: Array.from({ length: 300 }, () => 'word '), usage: { prompt: 8, completion: 5 } })
  const free = { price: { ...emptyPrice, inputPico: 0, outputPico: 0 } }
  for (const [dialect, model, body] of [
    ['openai', {}, {}], ['vllm', free, {}], ['vllm', {}, { messages: undefined, prompt: 'Hi', echo: true }]
  ] as const) {
    const { upstream, post } = await start(t, dialect, model)
    upstream.always(long)
    const path = 'prompt' in body ? '/completions' : '/chat/completions'
    t.equal(wordsIn((await post({ max_tokens: 5, ...body }, path)).chunks), 300, dialect)
  }
})

t.test('a whole answer cannot be cut: it is charged within the hold', async t => {
  const { upstream, post, booked } = await start(t, 'compatible')
  upstream.always(reply({ usage: { prompt: 8, completion: 100_000 } }))
  t.equal((await post({ max_tokens: 10, stream: false })).status, 200)
  const [entry] = await booked()
  t.ok(entry !== undefined && entry.amount <= 10 * 4000 + 1000 * 200)
})
