import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { usageDefaults } from '../../../services/config/defaults.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { reply, reset, scripts, stall, startUpstream, type Completion, type Edits } from '../../servers/upstream.ts'
import { clientNames, clients } from '../clients.ts'
import {
  anthropic, ask, booksOf, compatible, gemini, openShop, readWords, type End, type Protocol
} from '../delivery-shop.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'

const messages = [{ role: 'user' as const, content: 'Hello, world!' }]
const usual = { model: 'chat', messages, max_tokens: 4000 }
const withUsage = { stream: true, stream_options: { include_usage: true } } as const
const streamed = { ...usual, ...withUsage }
const price = { ...emptyPrice, inputPico: 1_111_000, outputPico: 4_007_000 }

/** The amounts booked so far, in nano-USD. */
async function booked ({ app }: Gateway): Promise<number[]> {
  await app.ledger.flush()
  const rows = await app.store.all<{ amount: number }>("select amount from entry where kind = 'usage' order by seq")
  return rows.map(({ amount }) => amount)
}

/** The cost in an answer's usage in nano-USD; the SDK's type does not know it. */
function costIn (usage: object | null | undefined): number {
  const cost: unknown = usage != null && Reflect.get(usage, 'cost')
  return typeof cost === 'number' ? Math.round(cost * 1e9) : NaN
}

const protocols: Protocol[] = [
  compatible('compatible', content => ({ content })),
  compatible('with usage in every chunk', content => ({ content }), true),
  anthropic,
  gemini
]

for (const name of clientNames) {
  for (const protocol of protocols) {
    t.test(`${name}: ${protocol.name}: the last chunk has the booked cost, as has a whole answer`, async t => {
      const { upstream, gateway } = await openShop(t, protocol, { price })
      const client = clients[name](gateway)
      upstream.script(protocol.stream({ words: 20, end: 'complete', counts: true }))
      const stream = await client.chat.completions.create(streamed)
      const chunks = []
      for await (const chunk of stream) chunks.push(chunk)
      const [streamedNano = 0] = await booked(gateway)
      t.ok(streamedNano > 0)
      t.equal(costIn(chunks.at(-1)?.usage), streamedNano)
      t.same(chunks.at(-1)?.choices, [])
      t.equal(chunks.filter(({ usage }) => usage != null).length, 1, 'one chunk has usage')
      t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), ' word'.repeat(20))

      upstream.script(protocol.whole({ words: 20, counts: true }))
      const { data, response } = await client.chat.completions.create(usual).withResponse()
      const [, wholeNano] = await booked(gateway)
      t.equal(wholeNano, streamedNano, 'both cost the same')
      t.equal(costIn(data.usage), wholeNano)
      t.equal(Number(response.headers.get('x-tollgate-cost')), Number(wholeNano) / 1e9)
      t.type(data.usage?.total_tokens, 'number')

      upstream.script(protocol.stream({ words: 3, end: 'complete', counts: true }))
      for await (const chunk of await client.chat.completions.create({ ...usual, stream: true })) {
        t.notOk(chunk.usage, 'usage was not asked for')
        t.ok(chunk.choices.length > 0)
      }
    })
  }
}

for (const protocol of protocols) {
  t.test(`${protocol.name}: a provider that does not count leaves no client without usage and cost`, async t => {
    const { upstream, gateway } = await openShop(t, protocol, { price })
    upstream.script(protocol.stream({ words: 20, end: 'complete', counts: false }))
    const stream = await clients['openai 7'](gateway).chat.completions.create(streamed)
    const chunks = []
    for await (const chunk of stream) chunks.push(chunk)
    const last = chunks.at(-1)
    const [nano = 0] = await booked(gateway)
    t.ok(nano > 0)
    t.equal(costIn(last?.usage), nano, 'the estimate that is booked')
    t.ok((last?.usage?.completion_tokens ?? 0) >= 20)
    t.match(last, { id: chunks[0]?.id, model: chunks[0]?.model, object: 'chat.completion.chunk', choices: [] })
    t.equal(chunks.filter(({ usage }) => usage != null).length, 1)
  })
}

/** A shop in front of the usual upstream, of one dialect. */
async function openUsual (t: Test, dialect: string) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = configFor(providerAt(upstream.url, { dialect }), { price, maxOutput: 4000 })
  const usage = { ...usageDefaults, costTolerance: 1 }
  const gateway = await startGateway(t, { config: { ...config, usage }, env: { TOLLGATE_STARTING_CREDIT: '10' } })
  return { upstream, gateway, client: clients['openai 7'](gateway) }
}

const expectedNano = 8 * 1111 + 377 * 4007

async function usageOf (stream: AsyncIterable<{ usage?: object | null }>): Promise<object | null> {
  let usage = null
  for await (const chunk of stream) if (chunk.usage != null) usage = chunk.usage
  return usage
}

t.test('legacy completions have the cost, native and by chat', async t => {
  for (const dialect of ['compatible', 'mistral']) {
    const { gateway, client } = await openUsual(t, dialect)
    const ask = { model: 'chat', prompt: ['One', 'Two'], max_tokens: 500 }
    const stream = await client.completions.create({ ...ask, ...withUsage })
    const told = costIn(await usageOf(stream))
    const whole = await client.completions.create(ask)
    t.same([told, costIn(whole.usage)], await booked(gateway), dialect)
  }
})

t.test('what the provider charges the operator is not shown', async t => {
  const fields = { cost: 0.5, cost_details: { upstream_inference_cost: 0.4 }, is_byok: false }
  const edit = (body: Completion): Completion =>
    body.usage == null ? body : { ...body, usage: { ...body.usage, ...fields } }
  const edits: Edits = { completion: edit, chunks: chunks => chunks.map(edit) }
  const { upstream, gateway, client } = await openUsual(t, 'openrouter')
  upstream.script(reply({}, edits))
  const usage = await usageOf(await client.chat.completions.create(streamed))
  upstream.script(reply({}, edits))
  const whole = await client.chat.completions.create(usual)
  t.same(await booked(gateway), [expectedNano, expectedNano])
  for (const one of [usage, whole.usage]) {
    t.equal(costIn(one), expectedNano)
    t.notMatch(JSON.stringify(one), /cost_details|byok/)
  }
})

t.test('nor is it beside counts that make no sense', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const config = configFor(providerAt(upstream.url, { dialect: 'openrouter' }), { price, maxOutput: 4000 })
  const gateway = await startGateway(t, { config, env: { TOLLGATE_STARTING_CREDIT: '1' } })
  const usage = { prompt_tokens: 8, completion_tokens: -1, cost: 0.5 }
  upstream.always(reply({}, {
    chunks: chunks => chunks.map(chunk => chunk.usage == null ? chunk : { ...chunk, usage }),
    completion: completion => ({ ...completion, usage })
  }))
  for (const body of [streamed, usual]) {
    const answer = await ask({ gateway }, body)
    const text = await answer.body.text()
    // A whole answer leaves such counts out, so its header tells the cost.
    const [, told = answer.headers['x-tollgate-cost']] = /"cost":([^,}]*)/.exec(text) ?? []
    t.equal(Math.round(Number(told) * 1e9), (await booked(gateway)).at(-1))
    t.notMatch(text, '0.5')
  }
})

t.test('usage in the chunk of the finish reason comes in a chunk of its own', async t => {
  const { upstream, gateway, client } = await openUsual(t, 'compatible')
  upstream.script(scripts.mergedUsage())
  const stream = await client.chat.completions.create(streamed)
  const usages = []
  for await (const { usage, choices } of stream) {
    if (usage != null) usages.push({ cost: costIn(usage), choices })
  }
  t.same(usages, [{ cost: expectedNano, choices: [] }])
  t.same(await booked(gateway), [expectedNano])
})

t.test('the text of a whole answer is otherwise that of the provider', async t => {
  const { upstream, client } = await openUsual(t, 'compatible')
  const texts = ['"usage"', '{"usage": {"cost": 7}}', 'usage\\"', '\\', '"usage":{']
  for (const text of texts) {
    const tail = { x_more: { usage: { cost: 'theirs' } }, list: [{ usage: text }], last: text }
    upstream.script(reply({ text }, { completion: body => ({ ...body, ...tail }) }))
    const answer = await client.chat.completions.create(usual)
    t.equal(costIn(answer.usage), expectedNano, text)
    t.match(answer, tail)
    t.equal(answer.choices[0]?.message.content, text)
  }
})

t.test('a cached answer costs nothing and says so', async t => {
  const { gateway, client } = await openUsual(t, 'compatible')
  const headers = { 'x-tollgate-cache': 'on' }
  for (const [stream, expected] of [[true, expectedNano], [true, 0]] as const) {
    const answer = await client.chat.completions.create({ ...streamed, temperature: 0, stream }, { headers })
    t.equal(costIn(await usageOf(answer)), expected)
  }
  for (const expected of [expectedNano, 0]) {
    const asked = client.chat.completions.create({ ...usual, temperature: 0 }, { headers })
    const { data, response } = await asked.withResponse()
    t.equal(costIn(data.usage), expected)
    t.equal(Number(response.headers.get('x-tollgate-cost')) * 1e9, expected)
  }
  t.same(await booked(gateway), [expectedNano, expectedNano])
})

t.test('an answer that costs more than was held says what the account was charged', async t => {
  const { upstream, gateway, client } = await openUsual(t, 'openai')
  const dear = { usage: { prompt: 8, completion: 9000 } }
  upstream.script(reply(dear))
  const whole = await client.chat.completions.create({ ...usual, max_tokens: 10 })
  upstream.script(reply(dear))
  const usage = await usageOf(await client.chat.completions.create({ ...streamed, max_tokens: 10 }))
  t.same([costIn(whole.usage), costIn(usage)], await booked(gateway))
})

t.test('a stream says which parameters were dropped, as does a whole answer', async t => {
  const { client } = await openUsual(t, 'groq')
  for (const stream of [false, true]) {
    const more = { logit_bias: { 50256: 1 }, stream }
    const { response } = await client.chat.completions.create({ ...usual, ...more }).withResponse()
    t.equal(response.headers.get('x-tollgate-dropped-params'), 'logit_bias', `stream: ${stream}`)
    const legacy = await client.completions.create({ model: 'chat', prompt: 'One', ...more }).withResponse()
    const dropped = legacy.response.headers.get('x-tollgate-dropped-params')
    t.equal(dropped, 'logit_bias', `legacy, stream: ${stream}`)
  }
})

t.test('the helper of the SDK keeps the cost in its final answer', async t => {
  const { gateway, client } = await openUsual(t, 'compatible')
  const { stream: _, ...body } = streamed
  const final = await client.chat.completions.stream(body).finalChatCompletion()
  const usage: OpenAI.CompletionUsage | undefined = final.usage
  t.same([costIn(usage)], await booked(gateway))
})

const brokenEnds: Record<string, End> = { 'is reset by the provider': reset, 'ends with an error event': 'error' }

for (const protocol of protocols) {
  t.test(`${protocol.name}: streams that break off are free if the operator says so`, async t => {
    const shop = await openShop(t, protocol, {}, { TOLLGATE_DRAIN_SECONDS: '0' }, { chargeBrokenStreams: false })
    const { upstream, gateway: { app } } = shop
    for (const [name, end] of Object.entries(brokenEnds)) {
      upstream.script(protocol.stream({ words: 50, end, counts: false }))
      const { body } = await ask(shop, { stream: true })
      t.match(await body.text(), '"error":', name)
      t.same(await booksOf(shop, 0), { entries: [], held: 0 }, name)
    }
    const leaving = new AbortController()
    upstream.script(protocol.stream({ words: 50, end: stall, counts: false }))
    const left = await ask(shop, { stream: true }, { signal: leaving.signal })
    await readWords(left.body, 50)
    leaving.abort()
    t.equal((await booksOf(shop, 1)).entries.length, 1, 'not if the client leaves')
    upstream.script(protocol.stream({ words: 50, end: stall, counts: false }))
    const { body } = await ask(shop, { stream: true })
    const readRest = await readWords(body, 50)
    await Promise.all([app.close(), readRest()])
    t.equal((await booksOf(shop, 1)).entries.length, 1, 'free when the gateway closes')
  })
}
