import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { breakerDefaults, requestsDefaults } from '../../../services/config/defaults.ts'
import type { GatewayConfig, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { dialects } from '../../../services/providers/openai/dialects.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { price } from '../../helpers/faults.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import {
  document, finish, halfClose, head, refusal, reply, reset, send, sequence, stall, startUpstream,
  type Script, type Upstream
} from '../../servers/upstream.ts'
import { clients } from '../clients.ts'
import { anthropic, booksOf, compatible, openShop, type Protocol } from '../delivery-shop.ts'

// Failures and odd answers as the official SDK sees them, over sockets. What other clients make of repaired
// answers is in repaired-answers.test.ts.

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Hi' }]
const chunkHead = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
const event = (body: object): string => `data: ${JSON.stringify(body)}\n\n`
const said = (delta: object, finish: string | null = null, index = 0): string =>
  event({ ...chunkHead, choices: [{ index, delta, finish_reason: finish }] })
const done = 'data: [DONE]\n\n'
const streamOf = (events: string[], end: Script = finish): Script =>
  sequence(head({ 'content-type': 'text/event-stream' }), send(events.map(text => Buffer.from(text))), end)

interface Shop { gateway: Gateway, client: OpenAI, upstreams: [Upstream, Upstream] }

/** A model `chat` at two providers, the first preferred, called once each. */
async function open (
  t: Test, provider: Partial<ProviderConfig> = {}, model = 'm'
): Promise<Shop> {
  const upstreams: Shop['upstreams'] = [await startUpstream(), await startUpstream()]
  for (const upstream of upstreams) t.teardown(() => upstream.close().catch(() => {}))
  const providers = upstreams.map(({ url }, index) => providerAt(url, { id: `up-${index}`, ...provider }))
  const deployments = providers.map(({ id }, priority) => ({ provider: id, model, weight: 1, priority }))
  const base = configFor(providerAt(''), { deployments, price, maxOutput: 1000 })
  const requests = { ...requestsDefaults, retries: 0, backoffMs: 1 }
  const config: GatewayConfig = { ...base, providers, requests, breaker: breakerDefaults }
  const gateway = await startGateway(t, { config })
  return { gateway, client: clients['openai 7'](gateway), upstreams }
}

async function charges ({ app }: Gateway): Promise<number[]> {
  await app.ledger.flush()
  const rows = await app.store.all<{ amount: number }>("select amount from entry where kind = 'usage' order by seq")
  return rows.map(({ amount }) => amount)
}

const asked = { model: 'chat', messages }
const textOf = (chunks: readonly OpenAI.ChatCompletionChunk[]): string =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')

/** What a stream gave until it ended or threw. */
async function heard (
  client: OpenAI, more: Partial<OpenAI.ChatCompletionCreateParamsStreaming> = {}
): Promise<{ text: string, error: unknown }> {
  const chunks: OpenAI.ChatCompletionChunk[] = []
  try {
    const stream = await client.chat.completions.create({ ...asked, ...more, stream: true })
    for await (const chunk of stream) chunks.push(chunk)
  } catch (error) {
    return { text: textOf(chunks), error }
  }
  return { text: textOf(chunks), error: null }
}

t.test('an empty stream falls back, and costs nothing where nothing is left', async t => {
  const { gateway, client, upstreams: [first, second] } = await open(t)
  for (const empty of [streamOf([done]), streamOf([]), streamOf([': wait\n\n', done])]) {
    first.script(empty, empty)
    t.match(await heard(client), { text: /^Hi there!/, error: null })
    t.match((await client.chat.completions.stream(asked).finalMessage()).content, /^Hi there!/)
  }
  const before = (await charges(gateway)).length
  t.equal(before, 6)
  for (const upstream of [first, second]) upstream.always(streamOf([done]))
  const { error } = await heard(client)
  t.ok(error instanceof OpenAI.InternalServerError)
  t.match(error, { status: 502, code: 'upstream_bad_reply' })
  t.equal((await charges(gateway)).length, before)
})

t.test('a stream whose first event is an error falls back before anything was sent', async t => {
  const { client, upstreams: [first] } = await open(t)
  const overloaded = event({ error: { message: 'Overloaded.', type: 'overloaded_error', code: 529 } })
  for (const events of [[overloaded], [': wait\n\n', overloaded, done]]) {
    first.script(streamOf(events))
    t.match(await heard(client), { text: /^Hi there!/, error: null })
  }
})

t.test('an error after text is an APIError of the same kind, after the text', async t => {
  const { client, upstreams: [first, second] } = await open(t)
  const limited = event({ error: { message: 'Slow down.', type: 'rate_limit_error', code: 429 } })
  first.script(streamOf([said({ role: 'assistant', content: 'Hi' }), limited]))
  const { text, error } = await heard(client)
  t.equal(text, 'Hi')
  t.ok(error instanceof OpenAI.APIError)
  t.match(error, { code: 'rate_limit_exceeded' })
  t.equal(second.requests.length, 0, 'what has begun is not begun elsewhere')
})

t.test('a stream that is cut is an error, never an end, for each of its choices', async t => {
  const { client, upstreams: [first] } = await open(t)
  const opening = said({ role: 'assistant', content: 'Hi' })
  const other = said({ role: 'assistant', content: 'Ho' }, null, 1)
  for (const end of [reset, halfClose, finish]) {
    first.script(streamOf([opening], end))
    t.match(await heard(client), { text: 'Hi', error: { type: 'server_error' } })
    first.script(streamOf([opening, other, said({}, 'stop')], end))
    const second = await heard(client, { n: 2 })
    t.match(second, { text: 'Hi', error: { type: 'server_error' } }, 'the second of two')
    first.script(streamOf([opening], end))
    const helped = client.chat.completions.stream(asked).finalChatCompletion()
    t.match(await helped.catch((error: unknown) => error), { type: 'server_error' }, 'the helper')
  }
  first.script(streamOf([opening, other, said({}, 'stop'), said({}, 'stop', 1)]))
  t.match(await heard(client, { n: 2 }), { text: 'Hi', error: null })
})

t.test('usage of zero is free, and a stream costs what the whole answer costs', async t => {
  const { gateway, client, upstreams: [first] } = await open(t)
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }
  const whole = (counted: object): Script => document(JSON.stringify({
    ...chunkHead,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: counted
  }))
  const streamed = (counted: object): Script => streamOf([
    said({ role: 'assistant', content: 'Hi' }), said({}, 'stop'),
    event({ ...chunkHead, choices: [], usage: counted }), done
  ])
  const nonzero = { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 }
  for (const counted of [usage, nonzero]) {
    first.script(whole(counted), streamed(counted), streamed(counted))
    await client.chat.completions.create(asked)
    t.equal((await heard(client)).text, 'Hi')
    await client.chat.completions.stream(asked).done()
  }
  const [wholeNano = 0, ...others] = (await charges(gateway)).slice(-3)
  t.same((await charges(gateway)).slice(0, -3).filter(amount => amount !== 0), [])
  t.ok(wholeNano > 0)
  t.same(others, [wholeNano, wholeNano])
})

t.test('thoughts in `reasoning` arrive as `reasoning_content`, whatever the dialect', async t => {
  const names = Object.keys(dialects)
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, {
    config: {
      ...configFor(providerAt(upstream.url)),
      providers: names.map(dialect => providerAt(upstream.url, { id: dialect, dialect })),
      models: names.flatMap(id => configFor(providerAt(upstream.url), {
        id, deployments: [{ provider: id, model: 'm', weight: 1, priority: 0 }]
      }).models)
    }
  })
  const { completions } = clients['openai 7'](gateway).chat
  const thoughtsOf = (message: object | undefined): unknown => Reflect.get(message ?? {}, 'reasoning_content')
  for (const model of names) {
    upstream.script(streamOf([
      said({ role: 'assistant', reasoning: 'Let me ' }), said({ reasoning: 'see.' }), said({ content: 'Four.' }, 'stop'),
      done
    ]))
    const chunks = await Array.fromAsync(await completions.create({ model, messages, stream: true }))
    const deltas = chunks.map(({ choices }) => choices[0]?.delta)
    t.same(deltas.map(thoughtsOf).filter(Boolean).join(''), 'Let me see.', `${model}, streamed`)
    t.ok(deltas.every(delta => !('reasoning' in (delta ?? {}))), model)
    const message = { role: 'assistant', content: 'Four.', reasoning: 'Let me see.' }
    const whole = [{ index: 0, message, finish_reason: 'stop' }]
    upstream.script(document(JSON.stringify({ ...chunkHead, object: 'chat.completion', choices: whole })))
    const { choices: [choice] } = await completions.create({ model, messages })
    t.match(choice?.message, { content: 'Four.', reasoning_content: 'Let me see.', reasoning: undefined }, model)
  }
})

t.test('a thinking model of DeepSeek gets back the thoughts behind its calls, known or not', async t => {
  const { client, upstreams: [first] } = await open(t, { dialect: 'deepseek' }, 'deepseek-v4-pro')
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }]
  const message = { role: 'assistant', content: null, reasoning_content: 'I need f.', tool_calls: calls }
  const choices = [{ index: 0, message, finish_reason: 'tool_calls' }]
  const calling = document(JSON.stringify({ ...chunkHead, object: 'chat.completion', choices }))
  const thoughtsSent = (): unknown => Object(first.requests.at(-1)?.body).messages[1].reasoning_content

  first.script(calling, reply({ text: 'Four.' }))
  const { choices: [choice] } = await client.chat.completions.create(asked)
  if (choice === undefined) return t.fail()
  const result = { role: 'tool' as const, tool_call_id: 'call_1', content: '4' }
  await client.chat.completions.create({ ...asked, messages: [...messages, choice.message, result] })
  t.equal(thoughtsSent(), 'I need f.', 'from a client that keeps messages as they are')

  first.script(calling, reply({ text: 'Four.' }))
  const tool = {
    type: 'function' as const,
    function: { name: 'f', description: 'f', parameters: { type: 'object' }, parse: JSON.parse, function: () => '4' }
  }
  const runner = client.chat.completions.runTools({ ...asked, tools: [tool] })
  t.equal(await runner.finalContent(), 'Four.')
  t.equal(thoughtsSent(), '', 'the helper of the SDK drops them')
})

t.test('30 turns with one prompt_cache_key stay at one of two deployments, over two nodes', async t => {
  const upstreams = [await startUpstream(), await startUpstream()]
  for (const upstream of upstreams) t.teardown(() => upstream.close())
  const providers = upstreams.map(({ url }, index) => providerAt(url, { id: `up-${index}` }))
  const deployments = providers.map(({ id }) => ({ provider: id, model: 'm', weight: 1, priority: 0 }))
  const config = { ...configFor(providerAt(''), { deployments }), providers }
  const { url } = await createDatabase(t, 'sqlite')
  const one = await startGateway(t, { config, env: { DATABASE_URL: url } })
  const two = await startGateway(t, { config, env: { DATABASE_URL: url } })
  const nodes = [one, { url: two.url, key: one.key }].map(node => clients['openai 7'](node))
  const isUnused = () => upstreams.some(({ requests }) => requests.length === 0)
  // Chance decides which one a conversation is at, but not forty times in the same way.
  for (let at = 0; at < 3 || (isUnused() && at < 40); at++) {
    const key = `conversation ${at}`
    const before = upstreams.map(({ requests }) => requests.length)
    for (let turn = 0; turn < 30; turn++) {
      const question = { role: 'user' as const, content: `Question ${turn} of ${key}` }
      await nodes[turn % 2]?.chat.completions
        .create({ model: 'chat', messages: [question], prompt_cache_key: key })
    }
    const counts = upstreams.map(({ requests }, index) => requests.length - (before[index] ?? 0))
    t.same(counts.toSorted((a, b) => a - b), [0, 30], key)
  }
  t.notOk(isUnused(), 'both are in use')
})

const spoken: Protocol[] = [
  compatible('content', content => ({ content })), compatible('reasoning', reasoning => ({ reasoning })), anthropic
]
for (const protocol of spoken) {
  t.test(`${protocol.name}: a client that leaves a stream ends it at the provider, and pays for what it got`, async t => {
    const shop = await openShop(t, protocol, {}, { TOLLGATE_DRAIN_SECONDS: '0' })
    shop.upstream.script(protocol.stream({ words: 300, end: stall, counts: true }))
    const stream = await clients['openai 7'](shop.gateway).chat.completions
      .create({ ...asked, max_tokens: 4000, stream: true })
    let count = 0
    for await (const { choices: [choice] } of stream) {
      const delta = choice?.delta ?? {}
      if (Reflect.get(delta, 'content') || Reflect.get(delta, 'reasoning_content')) count++
      if (count === 300) stream.controller.abort()
    }
    const seen = await shop.upstream.nextRequest()
    await seen.closed
    t.ok(seen.aborted)
    const { entries: [entry], held } = await booksOf(shop, 1)
    t.equal(held, 0)
    const { prompt = 0, completion = 0 } = entry?.usage ?? {}
    t.ok(Math.abs(completion - 300) <= 15, `${completion} tokens of the answer`)
    if (protocol === anthropic) t.equal(prompt, 2500, 'as it was counted')
  })
}

t.test('an operator may let streams be free that the provider breaks off', async t => {
  for (const chargeBrokenStreams of [true, false]) {
    const protocol = compatible('content', content => ({ content }))
    const shop = await openShop(t, protocol, {}, {}, { chargeBrokenStreams })
    shop.upstream.script(protocol.stream({ words: 50, end: 'error', counts: false }))
    const { text, error } = await heard(clients['openai 7'](shop.gateway))
    t.match({ text, error }, { text: ' word'.repeat(50), error: { type: 'server_error' } })
    const { entries } = await booksOf(shop, chargeBrokenStreams ? 1 : 0)
    t.same(entries.map(({ estimated }) => estimated), chargeBrokenStreams ? [1] : [])
  }
})

t.test('comments and pings of a provider are nothing that the SDK sees', async t => {
  const { client, upstreams: [first] } = await open(t)
  first.script(streamOf([
    ': PROCESSING\n\n', 'event: ping\ndata: {"type":"ping"}\n\n', said({ role: 'assistant', content: 'Hi' }),
    'event: ping\ndata: {}\n\n', said({}, 'stop'), done
  ]))
  const chunks = await Array.fromAsync(await client.chat.completions.create({ ...asked, stream: true }))
  t.equal(chunks.length, 2)
  t.equal(textOf(chunks), 'Hi')
  first.script(refusal(529))
  t.match(await heard(client), { text: /^Hi there!/, error: null })
})
