import t, { type Test } from 'tap'
import { openStore } from '../../../services/store/open.ts'
import { pastDeadline } from '../../helpers/timeouts.ts'
import { reply, reset, scripts, stall, type Script } from '../../servers/upstream.ts'
import {
  anthropic, ask, askPastDeadline, booksOf, compatible, costOf, counted, gemini, openShop, pairOf, readWords,
  type Protocol, type Shop
} from '../delivery-shop.ts'
import { until } from '../../helpers/until.ts'

// Whole answers that no client waits for any more, and what is booked for them.

const speech = compatible('an OpenAI-compatible provider', content => ({ content }))
const plain: Protocol = { ...speech, name: 'a provider that finishes', provider: { onDisconnect: 'finish' } }
const words = 300
const exact = { prompt: counted.prompt, completion: words + counted.beyondWords }

/** Sends a request, and leaves once the provider has it. */
async function askAndLeave (shop: Shop, body: object = {}, path?: string): Promise<void> {
  const leaving = new AbortController()
  const answer = ask(shop, body, { signal: leaving.signal, ...(path === undefined ? {} : { path }) })
  await shop.upstream.nextRequest()
  leaving.abort()
  await answer.catch(() => {})
}

/** A script of the provider that waits until it is opened. */
function held (then: Script): { script: Script, open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { script: scripts.heldUntil(promise, then), open: resolve }
}

async function abandonedCalls ({ gateway }: Shop): Promise<number> {
  const text = await gateway.app.metrics.text()
  return Number(/^tollgate_abandoned_calls (\d+)$/m.exec(text)?.[1])
}

async function suspenseOf ({ gateway, database }: Shop): Promise<object[]> {
  const isOpen = gateway.app.server.listening
  const store = isOpen ? gateway.app.store : await openStore(database)
  const rows = await store.all<object>("select reason, amount, usage from entry where kind = 'suspense'")
  if (!isOpen) await store.close()
  return rows
}

function checkEstimate (t: Test, usage: { prompt: number, completion: number }, completion: number): void {
  t.equal(usage.prompt, 8)
  t.ok(Math.abs(usage.completion - completion) <= completion * 0.03, `${usage.completion} tokens`)
}

for (const protocol of [plain, anthropic, gemini]) {
  t.test(`${protocol.name}: an answer is awaited after its client has left or its deadline has passed`, async t => {
    const shop = await openShop(t, protocol)
    const first = held(protocol.whole({ words, counts: true }))
    shop.upstream.script(first.script)
    await askAndLeave(shop)
    await until(async () => await abandonedCalls(shop) === 1)
    t.equal((await booksOf(shop, 0, 1)).held, 1)
    first.open()
    const { entries: [left], held: heldNano } = await booksOf(shop, 1)
    t.match(left, { usage: exact, estimated: 0, amount: costOf(exact) })
    t.equal(heldNano, 0)
    t.equal(await abandonedCalls(shop), 0)
    const line = await shop.gateway.line(({ msg }) => msg === 'the client of an answer had left')
    t.match(line, { costUsd: costOf(exact) / 1e9 })

    const second = held(protocol.whole({ words, counts: false }))
    shop.upstream.script(second.script)
    t.match(await askPastDeadline(shop, {}), { statusCode: 504, text: /deadline_exceeded/ })
    second.open()
    const { entries: [, passed] } = await booksOf(shop, 2)
    t.equal(passed?.estimated, 1)
    if (passed !== undefined) checkEstimate(t, passed.usage, words)
  })
}

t.test('the operator\'s deadline leaves an entry too', async t => {
  const answer = held(plain.whole({ words, counts: true }))
  let opened: Shop | undefined
  const shop = await pastDeadline(pairOf(() => opened), async deadlineMs => {
    opened = await openShop(t, plain, {}, {}, { deadlineMs })
    opened.upstream.script(answer.script)
    t.equal((await ask(opened, {})).statusCode, 504)
    return opened
  })
  answer.open()
  t.match((await booksOf(shop, 1)).entries, [{ usage: exact, estimated: 0 }])
})

t.test('a stream that is abandoned before its first event is charged for its prompt', async t => {
  for (const protocol of [plain, anthropic, gemini]) {
    const shop = await openShop(t, protocol)
    shop.upstream.script(scripts.silent(), scripts.silent())
    await askAndLeave(shop, { stream: true })
    t.match(await askPastDeadline(shop, { stream: true }), { statusCode: 504 })
    const { entries, held } = await booksOf(shop, 2)
    t.equal(entries.length, 2)
    const promptOnly = { usage: { prompt: 8, completion: 0 }, estimated: 1 }
    t.match(entries, [promptOnly, promptOnly], protocol.name)
    t.equal(held, 0)
  }
})

t.test('each of many abandoned calls is charged by its count, and holds its money until then', async t => {
  const shop = await openShop(t, plain, {}, { TOLLGATE_STARTING_CREDIT: '0.98' })
  const answer = held(plain.whole({ words, counts: true }))
  shop.upstream.always(answer.script)
  for (let i = 0; i < 60; i++) await askAndLeave(shop)
  await until(async () => await abandonedCalls(shop) === 60)
  t.equal((await booksOf(shop, 0, 60)).held, 60)
  const short = await ask(shop, {})
  t.equal(short.statusCode, 429, 'what they hold is not free')
  t.match(await short.body.json(), { error: { code: 'insufficient_funds_held' } })
  answer.open()
  const { entries } = await booksOf(shop, 60)
  t.equal(entries.length, 60)
  t.ok(entries.every(({ amount, estimated }) => amount === costOf(exact) && estimated === 0))
})

t.test('an abandoned call counts as a request of its key and of its node until it ends', async t => {
  const shop = await openShop(t, plain, {}, { TOLLGATE_ADMIN_KEY: 'operator-key-of-this-test', TOLLGATE_MAX_REQUESTS: '3' })
  const { gateway: { app } } = shop
  const created = await app.inject({
    method: 'POST',
    url: '/admin/keys',
    payload: { account: 'default', limits: { concurrent_requests: 1 } },
    headers: { authorization: 'Bearer operator-key-of-this-test' }
  })
  const headers = { authorization: `Bearer ${created.json().key}` }
  const answer = held(plain.whole({ words, counts: true }))
  shop.upstream.always(answer.script)
  t.match(await askPastDeadline(shop, {}, headers), { statusCode: 504 })
  await shop.upstream.nextRequest()
  const second = await ask(shop, {}, { headers })
  t.equal(second.statusCode, 429)
  t.match(await second.body.json(), { error: { message: /on concurrent requests: Limit 1/ } })
  await askAndLeave(shop)
  await askAndLeave(shop)
  t.equal((await ask(shop, {})).statusCode, 503)
  answer.open()
  await booksOf(shop, 3)
  await until(() => app.load.counts.requests === 0)
  const again = await ask(shop, {}, { headers })
  t.equal(again.statusCode, 200)
  await again.body.dump()
})

t.test('a call of a server that stops with its client is closed, and charged for its prompt', async t => {
  for (const dialect of ['vllm', 'sglang', 'llamacpp', 'ollama', 'lmstudio', 'compatible']) {
    const shop = await openShop(t, { ...speech, provider: { dialect } })
    shop.upstream.always(scripts.silent())
    await askAndLeave(shop)
    t.match(await askPastDeadline(shop, {}), { statusCode: 504 })
    const { entries, held: heldNano } = await booksOf(shop, 2)
    const promptOnly = { usage: { prompt: 8, completion: 0 }, estimated: 1 }
    t.match(entries, [promptOnly, promptOnly], dialect)
    t.equal(heldNano, 0)
    t.same(await suspenseOf(shop), [], 'it costs nothing more')
  }
})

t.test('paid services, and servers that finish according to the operator, are awaited', async t => {
  const rows = [
    { dialect: 'openai' }, { dialect: 'together' }, { dialect: 'litellm' }, { dialect: 'deepinfra' },
    { dialect: 'vllm', onDisconnect: 'finish' as const }
  ]
  for (const provider of rows) {
    const shop = await openShop(t, { ...speech, provider })
    const answer = held(plain.whole({ words, counts: true }))
    shop.upstream.script(answer.script)
    await askAndLeave(shop)
    await until(async () => await abandonedCalls(shop) === 1)
    answer.open()
    t.match(await booksOf(shop, 1), { entries: [{ usage: exact, estimated: 0 }], held: 0 }, provider.dialect)
  }
})

t.test('a hedge is not begun for a client that has left, and both of two calls end with one charge', async t => {
  const shop = await openShop(t, plain, {
    deployments: [1, 2].map(n => ({ provider: 'up', model: `m${n}`, weight: 1, priority: 0 }))
  }, {}, { hedgeAfterMs: 200 })
  const answer = held(plain.whole({ words, counts: true }))
  shop.upstream.always(answer.script)
  await askAndLeave(shop)
  await new Promise(resolve => setTimeout(resolve, 400))
  t.equal(shop.upstream.requests.length, 1)

  const leaving = new AbortController()
  const hedged = ask(shop, {}, { signal: leaving.signal })
  await until(() => shop.upstream.requests.length === 3)
  leaving.abort()
  await hedged.catch(() => {})
  answer.open()
  const { entries, held: heldNano } = await booksOf(shop, 2)
  t.match(entries, [{ usage: exact, estimated: 0 }, { usage: exact, estimated: 0 }])
  t.equal(heldNano, 0)
})

for (const [path, input] of [
  ['/responses', { input: 'Hello, world!', messages: undefined, max_tokens: undefined, max_output_tokens: 4000 }],
  ['/messages', {}]
] as const) {
  t.test(`an abandoned whole answer of ${path} is awaited and charged`, async t => {
    const shop = await openShop(t, plain)
    const answer = held(plain.whole({ words, counts: true }))
    shop.upstream.script(answer.script)
    await askAndLeave(shop, input, path)
    await until(async () => await abandonedCalls(shop) === 1)
    answer.open()
    t.match(await booksOf(shop, 1), { entries: [{ usage: exact, estimated: 0 }], held: 0 })
  })
}

t.test('an abandoned call that the provider refuses or breaks off is free', async t => {
  const shop = await openShop(t, plain)
  for (const end of [scripts.refused(503), scripts.refused(400), reset]) {
    const answer = held(end)
    shop.upstream.script(answer.script)
    await askAndLeave(shop)
    await until(async () => await abandonedCalls(shop) === 1)
    answer.open()
    await until(async () => await abandonedCalls(shop) === 0)
  }
  const { entries, held: heldNano } = await booksOf(shop, 0)
  t.same([entries, heldNano], [[], 0])
  t.equal(shop.upstream.requests.length, 3, 'none is retried')
})

t.test('a closing gateway awaits abandoned calls for as long as other requests, then aborts them', async t => {
  const cases = [
    ['30', { usage: exact, estimated: 0 }], ['0', { usage: { prompt: 8, completion: 0 }, estimated: 1 }]
  ] as const
  for (const [seconds, expected] of cases) {
    const shop = await openShop(t, plain, {}, { TOLLGATE_DRAIN_SECONDS: seconds })
    const answer = held(plain.whole({ words, counts: true }))
    shop.upstream.script(answer.script)
    const before = shop.gateway.app.ledger
    await askAndLeave(shop)
    await until(async () => await abandonedCalls(shop) === 1)
    const heldNano = (await before.balance('default')).heldNano
    const closed = shop.gateway.app.close()
    if (seconds === '30') setTimeout(answer.open, 200)
    await closed
    const { entries, held: stillHeld } = await booksOf(shop, 1)
    t.match(entries, [expected])
    t.equal(stillHeld, 0)
    // The provider may finish what was aborted.
    const rest = { reason: 'unverified', amount: heldNano - (entries[0]?.amount ?? 0), usage: '{}' }
    t.same(await suspenseOf(shop), seconds === '30' ? [] : [rest])
  }
})

t.test('a whole request that a closing gateway gives up is free', async t => {
  const shop = await openShop(t, plain, {}, { TOLLGATE_DRAIN_SECONDS: '0' })
  shop.upstream.script(scripts.silent())
  const answer = ask(shop, {})
  await shop.upstream.nextRequest()
  const closed = shop.gateway.app.close()
  t.equal((await answer).statusCode, 503)
  await closed
  t.same(await booksOf(shop, 0), { entries: [], held: 0 })
})

t.test('a whole answer without usage is charged for its text, whatever field it is in', async t => {
  const callOf = (call: object) => ({ tool_calls: [{ index: 0, id: 'c', ...call }] })
  const fields: Record<string, (text: string) => object> = {
    content: content => ({ content }),
    reasoning: reasoning => ({ reasoning }),
    'reasoning_content and reasoning': text => ({ reasoning_content: text, reasoning: text }),
    reasoning_details: text => ({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text }] }),
    thinking: thinking => ({ thinking }),
    refusal: refusal => ({ refusal }),
    'parts of content': text => ({ content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] }),
    'tool calls': text => callOf({ type: 'function', function: { name: 'f', arguments: text } }),
    'custom tool calls': input => callOf({ type: 'custom', custom: { name: 'f', input } }),
    'function call': text => ({ function_call: { name: 'f', arguments: text } }),
    'audio transcript': transcript => ({ audio: { id: 'a', data: 'AAAA', expires_at: 0, transcript } })
  }
  const shop = await openShop(t, plain)
  let booked = 0
  for (const [name, deltaOf] of Object.entries(fields)) {
    const protocol = compatible(name, deltaOf)
    shop.upstream.script(
      protocol.whole({ words, counts: false }), protocol.stream({ words, end: 'complete', counts: false }),
      protocol.stream({ words, end: reset, counts: false }))
    for (const stream of [false, true, true]) await (await ask(shop, { stream })).body.text()
    const { entries } = await booksOf(shop, booked += 3)
    for (const entry of entries.slice(-3)) {
      t.equal(entry.estimated, 1, name)
      checkEstimate(t, entry.usage, name === 'audio transcript' ? 6 * words : words)
    }
  }
})

t.test('several answers and legacy completions, natively and through chat', async t => {
  const native = await openShop(t, plain)
  const two = { text: Array.from({ length: words }, () => ' word') }
  const uncounted = { chunks: (all: object[]) => all.filter(chunk => !JSON.stringify(chunk).includes('"choices":[]')) }
  native.upstream.always(reply(two, uncounted))
  const leave = async (shop: Shop, body: object, path?: string, count = words) => {
    const leaving = new AbortController()
    const options = { signal: leaving.signal, ...(path === undefined ? {} : { path }) }
    const answer = await ask(shop, { stream: true, ...body }, options)
    await readWords(answer.body, count)
    leaving.abort()
  }
  await (await ask(native, { stream: true, n: 2 })).body.text()
  const twice = { stream: true, n: 2, messages: undefined, prompt: 'Hello, world!' }
  await (await ask(native, twice, { path: '/completions' })).body.text()
  const { entries: [chat, legacy] } = await booksOf(native, 2)
  if (chat === undefined || legacy === undefined) throw new Error('nothing was booked')
  checkEstimate(t, chat.usage, 2 * words)
  t.equal(legacy.usage.prompt, 4)
  t.ok(Math.abs(legacy.usage.completion / (2 * words) - 1) < 0.03)

  // Each prompt is a call: the first is counted, the second is left in the middle, the third is never sent.
  for (const protocol of [anthropic, gemini]) {
    const shop = await openShop(t, protocol)
    const stalled = protocol.stream({ words, end: stall, counts: true })
    shop.upstream.script(protocol.stream({ words, end: 'complete', counts: true }), stalled)
    const prompt = ['Hello, world!', 'Hello, world!', 'Hello, world!']
    await leave(shop, { messages: undefined, prompt }, '/completions', 2 * words)
    const { entries: [entry] } = await booksOf(shop, 1)
    t.equal(entry?.usage.prompt, 2 * counted.prompt, protocol.name)
    t.ok(Math.abs(Number(entry?.usage.completion) / (2 * words) - 1) < 0.06, JSON.stringify(entry?.usage))
    t.equal(entry?.estimated, 1)

    const answer = held(protocol.whole({ words, counts: true }))
    shop.upstream.script(answer.script, answer.script)
    const abandoned = askAndLeave(shop, { messages: undefined, prompt: prompt.slice(1) }, '/completions')
    answer.open()
    await abandoned
    const { entries: [, whole] } = await booksOf(shop, 2)
    t.match(whole, { usage: { prompt: 2 * exact.prompt, completion: 2 * exact.completion }, estimated: 0 })
  }
})

t.test('a PDF that the provider has counted is charged by that count, however early the client leaves', async t => {
  const shop = await openShop(t, anthropic)
  const pdf = Buffer.from('%PDF-1.4 short').toString('base64')
  const file = { filename: 'a.pdf', file_data: `data:application/pdf;base64,${pdf}` }
  shop.upstream.script(anthropic.stream({ words: 0, end: stall, counts: true }))
  const leaving = new AbortController()
  const body = { stream: true, messages: [{ role: 'user', content: [{ type: 'file', file }] }] }
  const answer = ask(shop, body, { signal: leaving.signal })
  const seen = await shop.upstream.nextRequest()
  await until(() => seen.bytesSent > 0)
  leaving.abort()
  await answer.catch(() => {})
  const { entries } = await booksOf(shop, 1)
  t.match(entries, [{ usage: { prompt: counted.prompt, completion: 1 }, estimated: 1 }])
})
