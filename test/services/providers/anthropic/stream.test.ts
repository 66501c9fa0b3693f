import t from 'tap'
import { configFor, providerAt, startGateway } from '../../../helpers/gateway.ts'
import { cuts, halfClose, head, reset, send, sequence, stall } from '../../../servers/upstream.ts'
import type { Script } from '../../../servers/upstream.ts'
import * as fixtures from '../../../fixtures/anthropic/streams.ts'
import { encode, errorBody, replay, reply, startAnthropic } from '../../../servers/anthropic.ts'
import { generous } from '../../../helpers/timeouts.ts'

const timeouts = { ...generous, firstByteMs: 2_000, idleMs: 2_000 }

async function started () {
  const server = await startAnthropic()
  t.teardown(() => server.close())
  const provider = providerAt(server.url, { protocol: 'anthropic', apiKey: 'sk-ant-secret', timeouts })
  const deployments = [{ provider: 'up', model: 'claude-sonnet-4-6', weight: 1, priority: 0 }]
  const gateway = await startGateway(t, { config: configFor(provider, { deployments, maxOutput: 4096 }) })

  async function stream (script: Script, more: object = {}) {
    server.script(script)
    const messages = [{ role: 'user', content: 'Hi' }]
    const body = { model: 'chat', messages, stream: true, stream_options: { include_usage: true }, ...more }
    const answer = await fetch(`${gateway.url}/chat/completions`, {
      method: 'POST', headers: gateway.headers, body: JSON.stringify(body)
    })
    const text = await answer.text()
    const events = text.split('\n\n').filter(block => block.startsWith('data: ')).map(block => block.slice(6))
    const chunks = events.filter(data => data !== '[DONE]').map(data => JSON.parse(data))
    return { status: answer.status, text, events, chunks, deltas: deltasOf(chunks), last: events.at(-1) }
  }
  return { server, gateway, stream }
}

interface Delta {
  content?: string
  refusal?: string
  reasoning_content?: string
  reasoning_details?: object[]
  tool_calls?: { extra_content?: { google: { thought_signature: string } } }[]
}
interface Chunk { choices?: { delta: Delta }[] }

const deltasOf = (chunks: Chunk[]) => chunks.flatMap(({ choices = [] }) => choices.map(({ delta }) => delta))
const contentOf = (deltas: Delta[]) => deltas.map(({ content }) => content ?? '').join('')

const { stream, server, gateway } = await started()

t.test('text becomes chunks: role, deltas, finish reason, usage', async t => {
  const { chunks, deltas, last } = await stream(replay(fixtures.plainText))
  t.same(deltas, [
    { role: 'assistant', content: '', refusal: null },
    { content: 'Grüße, ' }, { content: '日本語' }, { content: ' 👩‍👩‍👧‍👦' }, {}
  ])
  t.match(chunks[0], { id: 'chatcmpl-msg_014p7gG3wDgGV9EUtLvnow3U', object: 'chat.completion.chunk', model: 'claude-sonnet-4-6', usage: null })
  const heads = new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`))
  t.equal(heads.size, 1)
  t.same(chunks.flatMap(chunk => chunk.choices).map(choice => choice.finish_reason), [null, null, null, null, 'stop'])
  t.same(chunks.at(-1).choices, [])
  t.same(chunks.at(-1).usage, {
    prompt_tokens: 2572,
    completion_tokens: 15,
    total_tokens: 2587,
    prompt_tokens_details: { cached_tokens: 2000, cache_write_tokens: 100 },
    cost: 0
  })
  t.ok(chunks.every(chunk => chunk.service_tier === 'default'), 'Anthropic calls it standard')
  t.equal(last, '[DONE]')
})

t.test('tool calls have an index of their own, and empty arguments are an object', async t => {
  const { deltas, chunks } = await stream(replay(fixtures.parallelTools))
  t.same(deltas.flatMap(({ tool_calls: calls = [] }) => calls), [
    { index: 0, id: 'toolu_01A', type: 'function', function: { name: 'get_weather', arguments: '' } },
    { index: 0, function: { arguments: '{"city": "Zü' } },
    { index: 0, function: { arguments: 'rich"}' } },
    { index: 1, id: 'toolu_01B', type: 'function', function: { name: 'get_time', arguments: '' } },
    { index: 1, function: { arguments: '{}' } }
  ])
  t.equal(chunks.at(-2).choices[0].finish_reason, 'tool_calls')
  const ran = await stream(replay(fixtures.serverTool))
  t.match(ran.deltas.flatMap(({ tool_calls: calls = [] }) => calls), [
    { index: 0, id: 'toolu_01D' }, { index: 0, function: { arguments: '{"a":1}' } }
  ])
  t.equal(contentOf(ran.deltas), 'Found.')
})

t.test('thinking is sent as reasoning, and signed with the tool call that follows it', async t => {
  const { deltas, chunks } = await stream(replay(fixtures.thinkingTools))
  t.equal(deltas.map(({ reasoning_content: text = '' }) => text).join(''), 'Two cities, so two calls.')
  const format = 'anthropic-claude-v1'
  const thought = { text: 'Two cities, so two calls.', signature: 'EqoBCkgIARABGAIiQLvP' }
  t.same(deltas.flatMap(({ reasoning_details: details = [] }) => details), [
    { type: 'reasoning.text', ...thought, format, index: 0 },
    { type: 'reasoning.encrypted', data: 'EmwKAhgBEgy3va3pzix', format, index: 1 }
  ])
  const [call] = deltas.flatMap(({ tool_calls: calls = [] }) => calls)
  const sealed = call?.extra_content?.google.thought_signature ?? ''
  t.same(JSON.parse(Buffer.from(sealed.slice('claude.'.length), 'base64url').toString()), [
    { type: 'thinking', thinking: thought.text, signature: thought.signature },
    { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix' }
  ])
  t.equal(chunks.at(-1).usage.completion_tokens_details.reasoning_tokens, 64)
})

t.test('stop reasons become finish reasons', async t => {
  const reasons = {
    end_turn: 'stop',
    stop_sequence: 'stop',
    pause_turn: 'length',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter'
  } as const
  for (const [reason, expected] of Object.entries(reasons) as [keyof typeof reasons, string][]) {
    const { chunks } = await stream(replay(fixtures.endingWith(reason)))
    t.equal(chunks.at(-2).choices[0].finish_reason, expected, reason)
  }
  const { deltas } = await stream(replay(fixtures.refusal))
  t.equal(contentOf(deltas), 'First you')
  t.equal(deltas.map(({ refusal }) => refusal ?? '').join(''), 'This could do harm.')
})

t.test('however the network cuts it, the chunks are the same', async t => {
  const expected = (await stream(replay(fixtures.plainText))).deltas
  const seeds = [1, 2, 3].map(seed => cuts.anywhere(seed))
  const ways = [cuts.everyByte, cuts.onePacket, cuts.insideCharacters, ...seeds]
  for (const cut of ways) t.same((await stream(replay(fixtures.plainText, cut))).deltas, expected)
  const returns = reply({}, {
    events: () => fixtures.plainText,
    wire: events => events.map(event => event.replaceAll('\n', '\r\n'))
  })
  t.same((await stream(returns)).deltas, expected, 'with other line ends')
  const repeated = replay([fixtures.plainText[0] ?? {}, ...fixtures.plainText])
  t.same((await stream(repeated)).deltas, expected, 'announced twice')
  const news = replay(fixtures.plainText.toSpliced(1, 0, { type: 'something_new' } as never))
  t.same((await stream(news)).deltas, expected, 'with an event of an unknown type')
})

t.test('a large event passes whole, an endless one is a failure', async t => {
  const { deltas } = await stream(reply({ said: [{ text: ['x'.repeat(3 * 2 ** 20)] }] }))
  t.equal(contentOf(deltas).length, 3 * 2 ** 20)
  const flood = (text: string, opening = '') => sequence(
    head({ 'content-type': 'text/event-stream' }),
    send((function * () { for (yield Buffer.from(opening); ;) yield Buffer.from(text) })())
  )
  t.equal((await stream(flood('x'.repeat(2 ** 20), 'data: '))).status, 502)
  t.equal((await stream(flood(encode({ type: 'ping' }).repeat(100)))).status, 502)
  t.equal((await stream(flood(': ping\n\n'.repeat(1000)))).status, 502)
  const floods = server.requests.slice(-3)
  for (const { closed } of floods) await closed
  t.ok(floods.every(({ aborted }) => aborted), 'the gateway has left')
})

t.test('a stream that fails before its first content fails with a status', async t => {
  const events = (count: number, ...more: object[]) => {
    return replay([...fixtures.plainText.slice(0, count), ...more])
  }
  t.equal((await stream(events(0, errorBody(529)))).status, 503)
  t.equal((await stream(events(1, errorBody(529)))).status, 503, 'announced and then overloaded')
  t.equal((await stream(events(0, errorBody(429)))).status, 429)
  t.equal((await stream(events(1, { type: 'ping' }, errorBody(500)))).status, 502)
  t.equal((await stream(events(0))).status, 502, 'an empty stream')
  t.equal((await stream(reply({}, { headers: { 'content-type': 'text/html' } }))).status, 502)
  const silence = sequence(head({ 'content-type': 'text/event-stream' }), stall)
  t.equal((await stream(silence)).status, 504, 'silence')
})

t.test('a stream that breaks off ends with an error, without [DONE], and is billed so far', async t => {
  const until = (end: Script) => reply({}, { events: () => fixtures.plainText.slice(0, 5), end })
  const breaks: Record<string, Script> = {
    'an error event': replay([...fixtures.plainText.slice(0, 5), errorBody(529)]),
    'no event at all': reply({}, {
      events: () => fixtures.plainText,
      wire: events => events.toSpliced(5, 0, 'event: message_delta\ndata: {"type":\n\n')
    }),
    'no terminal event': replay(fixtures.plainText.slice(0, -2)),
    'no message_stop': replay(fixtures.plainText.slice(0, -1)),
    reset: until(reset),
    'half closed': until(halfClose),
    stall: until(stall)
  }
  for (const [name, script] of Object.entries(breaks)) {
    const { status, deltas, last, text } = await stream(script)
    t.equal(status, 200, name)
    t.match(contentOf(deltas), /^Grüße, 日本語/, `${name}: what came before arrives`)
    t.match(JSON.parse(last ?? ''), { error: { message: String, type: /server_error|service_unavailable_error/, param: null } }, name)
    t.notMatch(text, '[DONE]', name)
    t.notMatch(text, 'sk-ant-secret', name)
  }
  const broken = gateway.lines.filter(({ outcome }) => outcome !== undefined)
  const known = broken.filter(({ promptTokens }) => promptTokens === 2572)
  t.equal(known.length, Object.keys(breaks).length, 'the prompt is known from the start')
})

t.test('a client that disconnects aborts the call', async t => {
  server.script(reply({}, { events: () => fixtures.plainText.slice(0, 5), end: stall }))
  const leaving = new AbortController()
  const answer = await fetch(`${gateway.url}/chat/completions`, {
    method: 'POST',
    headers: gateway.headers,
    signal: leaving.signal,
    body: JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }], stream: true })
  })
  await answer.body?.getReader().read()
  leaving.abort()
  const seen = server.requests.at(-1)
  await seen?.closed
  t.ok(seen?.aborted)
})
