import { request } from 'undici'
import t, { type Test } from 'tap'
import type { ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import {
  completion, document, errorsByStatus, head, refusal, reply, retryAfter, scripts, send, sequence,
  startUpstream
} from '../../servers/upstream.ts'
import type { Script, Upstream } from '../../servers/upstream.ts'
import { clientNames, clients } from '../clients.ts'
import { generous } from '../../helpers/timeouts.ts'

interface Pair { gateway: Gateway, upstream: Upstream }

async function startPair (t: Test, more: Partial<ProviderConfig> = {}): Promise<Pair> {
  const upstream = await startUpstream({ apiKey: 'sk-upstream-secret' })
  t.teardown(() => upstream.close().catch(() => {}))
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url, more)) })
  return { gateway, upstream }
}

const messages = [{ role: 'user', content: 'Grüße 👋' }]

async function post (
  { gateway }: Pair, body: object, path = '/chat/completions', headers: Record<string, string> = {}
) {
  const answer = await request(gateway.url + path, {
    method: 'POST', headers: { ...gateway.headers, ...headers }, body: JSON.stringify({ model: 'chat', messages, ...body })
  })
  const text = await answer.body.text()
  return { status: answer.statusCode, headers: answer.headers, text, events: eventsOf(text) }
}

/** The data of each event, parsed if it is JSON. */
function eventsOf (text: string) {
  return text.split('\n\n').filter(block => block.startsWith('data:'))
    .map(block => block.slice(6)).map(data => data === '[DONE]' ? data : JSON.parse(data))
}

interface ChunkLike { choices?: { delta?: { content?: string | null } }[] }

const textOf = (events: ChunkLike[]) => events.map(event => event.choices?.[0]?.delta?.content ?? '').join('')

for (const name of clientNames) {
  t.test(`${name} reaches a provider through the gateway`, async t => {
    const { gateway, upstream } = await startPair(t)
    const client = clients[name](gateway)
    const { data, response } = await client.chat.completions
      .create({ model: 'chat', messages: [{ role: 'user', content: 'Hi' }] }).withResponse()
    const seen = await upstream.nextRequest()
    const own = completion(seen)
    t.same(data, { ...own, usage: { ...own.usage, cost: 0 } }, 'the answer is the provider\'s own, with the cost')
    t.equal(data.model, 'gpt-5-nano-2025-08-07', 'the model named is the one that ran')
    t.equal(response.headers.get('x-tollgate-model'), 'chat')
    t.equal(response.headers.get('x-tollgate-provider'), 'up')
    t.equal(response.headers.get('x-tollgate-upstream-model'), 'gpt-5-nano')
    t.equal(response.headers.get('set-cookie'), null, 'the provider\'s own headers stay behind')
    t.equal(seen.headers.authorization, 'Bearer sk-upstream-secret')
    t.notMatch(JSON.stringify(seen.headers), gateway.key)
    t.same(seen.body, { model: 'gpt-5-nano', messages: [{ role: 'user', content: 'Hi' }] })

    const stream = await client.chat.completions.create({
      model: 'chat', messages: [{ role: 'user', content: 'Hi' }], stream: true
    })
    const chunks = await Array.fromAsync(stream)
    t.equal(textOf(chunks), 'Hi there! Tell me what you’d like to do.')
    t.same((await upstream.nextRequest()).body?.stream_options, { include_usage: true }, 'usage is always asked for')
    const line = await gateway.line(({ completionTokens }) => completionTokens === 377)
    t.match(line, { asked: 'chat', provider: 'up', used: 'gpt-5-nano-2025-08-07', promptTokens: 8 })
  })
}

t.test('members that the gateway does not know pass in both directions, and the cost is added', async t => {
  const pair = await startPair(t)
  const body = '{ "messages":[{"role":"user","content":"\\u00fc 1"}],"model" : "chat", "x_new":{"a":1.0}, "temperature":1.0}'
  const { url, headers } = pair.gateway
  const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
  const seen = await pair.upstream.nextRequest()
  t.same(seen.body, { ...JSON.parse(body), model: 'gpt-5-nano' })
  const sent = completion(seen)
  t.same(await answer.body.json(), { ...sent, usage: { ...sent.usage, cost: 0 } })
})

t.test('usage is sent only to clients that requested it', async t => {
  const pair = await startPair(t)
  const { upstream } = pair
  const { mergedUsage, slowBytes, splitAnywhere, onePacket } = scripts
  for (const script of [reply(), mergedUsage(), slowBytes(), splitAnywhere(7), onePacket()]) {
    upstream.script(script, script)
    const hidden = await post(pair, { stream: true })
    t.equal(hidden.events.at(-1), '[DONE]')
    t.ok(hidden.events.slice(0, -1).every(event => !('usage' in event) && event.choices.length === 1))
    const shown = await post(pair, { stream: true, stream_options: { include_usage: true } })
    t.equal(shown.events.filter(event => event.usage?.completion_tokens === 377).length, 1)
    t.equal(textOf(hidden.events), textOf(shown.events))
  }
  const counted = pair.gateway.lines.filter(({ completionTokens }) => completionTokens === 377)
  t.equal(counted.length, 10, 'the gateway has the usage of every one')
})

t.test('however the network cuts a stream, the client reads the same text', async t => {
  const pair = await startPair(t)
  const text = ['Grüße, ', '日本語', ' 👩‍👩‍👧‍👦', ' end']
  const answers: Record<string, Script> = {
    'byte by byte': scripts.slowBytes({ text }),
    'inside characters': scripts.splitCharacters({ text }),
    'all at once': scripts.onePacket({ text }),
    'CRLF line ends': scripts.lineEnds('\r\n', { text }),
    'CR line ends': scripts.lineEnds('\r', { text }),
    comments: scripts.comments('OPENROUTER PROCESSING', { text }),
    'Azure\'s opening chunk': scripts.azure({ text }),
    'no usage': scripts.noUsage({ text }),
    'no [DONE]': scripts.noDone({ text }),
    'data after [DONE]': scripts.dataAfterDone({ text }),
    'unrequested gzip': scripts.gzip({ text }),
    ...Object.fromEntries([1, 2, 3, 4, 5].map(seed => [`cut by seed ${seed}`, scripts.splitAnywhere(seed, { text })]))
  }
  for (const [name, script] of Object.entries(answers)) {
    pair.upstream.script(script)
    const { status, events, text: raw } = await post(pair, { stream: true })
    t.equal(status, 200, name)
    t.equal(textOf(events), text.join(''), name)
    t.match(events.filter(event => event === '[DONE]'), ['[DONE]'], name)
    t.equal(events.indexOf('[DONE]') === events.length - 1 || name === 'data after [DONE]', true, name)
    t.notOk(raw.includes('\r'), name)
  }
})

t.test('a large event passes whole', async t => {
  const pair = await startPair(t)
  pair.upstream.script(scripts.giantEvent(4))
  const { events } = await post(pair, { stream: true })
  t.equal(textOf(events).length, 4 * 2 ** 20)
})

t.test('a provider\'s error becomes the client\'s error', async t => {
  const pair = await startPair(t)
  const cases: [string, Script, object][] = [
    ['bad request', refusal(400), { status: 400, error: { param: 'temperature', code: 'decimal_above_max_value' } }],
    ['wrong key', refusal(401), { status: 502, error: { type: 'server_error', code: 'upstream_auth' } }],
    ['out of money', refusal(402), { status: 502, error: { code: 'upstream_quota' } }],
    ['forbidden', refusal(403), { status: 502, error: { code: 'upstream_auth' } }],
    ['no such model', refusal(404), { status: 404, error: { code: 'model_not_found' } }],
    ['too large', refusal(413), { status: 413, error: { type: 'invalid_request_error' } }],
    ['rate limit', refusal(429, {}, retryAfter.seconds(7)), { status: 429, retryAfter: '7', error: { code: 'rate_limit_exceeded' } }],
    ['rate limit in ms', refusal(429, {}, retryAfter.ms(250)), { status: 429, retryAfter: '1' }],
    ['rate limit until a date', refusal(429, {}, retryAfter.date(new Date(Date.now() + 90_000))), { status: 429, retryAfter: /^([1-8]\d|9[01])$/ }],
    ['quota', refusal(429, { code: 'insufficient_quota' }), { status: 502, error: { code: 'upstream_quota' } }],
    ['server error', refusal(500), { status: 502, error: { type: 'server_error' } }],
    ['bad gateway, as a page', scripts.html(502), { status: 502 }],
    ['overloaded, with no body', scripts.empty(503), { status: 503, retryAfter: '1' }],
    ['overloaded', refusal(529), { status: 503 }],
    ['redirect', scripts.redirected('http://127.0.0.1:9/'), { status: 502 }],
    ['error with status 200', scripts.errorIn200(), { status: 502 }],
    ['not even JSON', document('{"id" "x"}'), { status: 502, error: { code: 'upstream_bad_reply' } }],
    ['cut off', scripts.truncatedJson(), { status: 502 }],
    ['reset before headers', scripts.resetBeforeHeaders(), { status: 502, error: { code: 'upstream_unreachable' } }],
    ['reset after headers', scripts.resetAfterHeaders(), { status: 502 }]
  ]
  for (const [name, script, expected] of cases) {
    for (const stream of name === 'cut off' ? [false] : [false, true]) {
      pair.upstream.script(script)
      const { status, headers, text } = await post(pair, { stream })
      const { error } = JSON.parse(text)
      t.match({ status, retryAfter: headers['retry-after'], error }, expected, `${name}, stream ${stream}`)
      t.same(Object.keys(error), ['message', 'type', 'param', 'code'])
      t.notMatch(text, 'sk-upstream-secret')
      t.match(headers['x-request-id'], /^req_/)
    }
  }
})

t.test('a stream that fails before its first event fails with a status', async t => {
  const pair = await startPair(t)
  pair.upstream.script(scripts.errorAfter(0))
  t.equal((await post(pair, { stream: true })).status, 502)
  pair.upstream.script(scripts.errorAfter(0, { error: { ...errorsByStatus[429] } }))
  t.equal((await post(pair, { stream: true })).status, 429)
  pair.upstream.script(scripts.html(200))
  t.equal((await post(pair, { stream: true })).status, 502)
})

t.test('a stream that breaks off ends with an error event and without [DONE]', async t => {
  const timeouts = { ...generous, idleMs: 1_500 }
  const pair = await startPair(t, { timeouts })
  const breaks: Record<string, Script> = {
    'error event': scripts.errorAfter(3),
    'error in a chunk': scripts.errorChunkAfter(3),
    'malformed event': scripts.malformedEvent(0),
    'no end': scripts.noFinish(),
    reset: scripts.resetAfter(3),
    'half closed': scripts.halfClosedAfter(3),
    stall: scripts.stalledAfter(3)
  }
  for (const [name, script] of Object.entries(breaks)) {
    pair.upstream.script(script)
    const { status, events, text } = await post(pair, { stream: true })
    if (status !== 200) {
      t.equal(status, 502, name)
      continue
    }
    t.match(events.at(-1), { error: { message: String, type: 'server_error', param: null } }, name)
    t.notMatch(text, '[DONE]', name)
    t.match(textOf(events), /^Hi/, `${name}: what came before arrives`)
  }
  const failed = pair.gateway.lines.filter(({ outcome }) => typeof outcome === 'string')
  t.ok(failed.length >= 6, 'the log says what happened')
})

t.test('timeouts have distinct errors, and nothing is left open', async t => {
  const timeouts = { ...generous, firstByteMs: 1_500, idleMs: 1_500, totalMs: 1_500 }
  const pair = await startPair(t, { timeouts })
  pair.upstream.script(scripts.silent(), scripts.silent())
  t.match(await post(pair, {}), { status: 504 })
  t.match(await post(pair, { stream: true }), { status: 504 })
  for (let i = 0; i < 2; i++) {
    const seen = await pair.upstream.nextRequest()
    await seen.closed
    t.ok(seen.aborted)
  }
  // In more time, the flood reaches the limit on comments.
  const flooded = await startPair(t)
  flooded.upstream.script(scripts.pingFlood())
  const answer = await post(flooded, { stream: true }, '/chat/completions', { 'x-tollgate-deadline-ms': '400' })
  t.match(answer.status, 504, 'comments alone are no answer')
  for (const { closed } of flooded.upstream.requests) await closed
})

t.test('comments are left out, and a flood of them is a failure', async t => {
  const pair = await startPair(t)
  const flood = Array.from({ length: 40 }, () => Buffer.from(`: ${'x'.repeat(16 * 1024)}\n\n`))
  pair.upstream.script(sequence(head({ 'content-type': 'text/event-stream' }), send(flood), ({ request }) => request.closed))
  t.match(await post(pair, { stream: true }), { status: 502, text: /upstream_bad_reply/ })
  pair.upstream.script(scripts.comments('OPENROUTER PROCESSING'))
  const { status, text, events } = await post(pair, { stream: true })
  t.equal(status, 200)
  t.notMatch(text, 'OPENROUTER')
  t.match(textOf(events), /^Hi there!/)
})

t.test('an answer over the size limit is a failure', async t => {
  const timeouts = { ...generous, totalMs: 600_000 }
  const pair = await startPair(t, { timeouts })
  const answers: [Script, boolean][] = [[scripts.endless(), false], [scripts.endlessEvent(), true]]
  for (const [script, stream] of answers) {
    pair.upstream.script(script)
    t.equal((await post(pair, { stream })).status, 502)
    const endless = await pair.upstream.nextRequest()
    await endless.closed
    t.ok(endless.aborted, 'long before its time is up')
  }
})

t.test('a client that disconnects aborts the upstream request', async t => {
  const pair = await startPair(t)
  for (const script of [scripts.silent(), scripts.stalledAfter(2)]) {
    pair.upstream.script(script)
    const leaving = new AbortController()
    const answer = request(`${pair.gateway.url}/chat/completions`, {
      method: 'POST',
      headers: pair.gateway.headers,
      body: JSON.stringify({ model: 'chat', messages, stream: true }),
      signal: leaving.signal
    })
    const seen = await pair.upstream.nextRequest()
    if (script !== undefined && seen.bytesSent > 0) await answer
    leaving.abort()
    await answer.catch(() => {})
    await seen.closed
    t.ok(seen.aborted)
  }
})

t.test('a slow reader slows the provider down', async t => {
  const pair = await startPair(t)
  const megabytes = 8
  const text = Array.from({ length: megabytes * 64 }, () => 'x'.repeat(16 * 1024))
  pair.upstream.script(reply({ text }))
  const { body } = await request(`${pair.gateway.url}/chat/completions`, {
    method: 'POST', headers: pair.gateway.headers, body: JSON.stringify({ model: 'chat', messages, stream: true })
  })
  const seen = await pair.upstream.nextRequest()
  const reader = body[Symbol.asyncIterator]()
  await reader.next()
  const before = seen.bytesSent
  let bytes = 0
  for await (const piece of body) bytes += piece.length
  t.ok(bytes > megabytes * 2 ** 20)
  t.ok(before < megabytes * 2 ** 20, `the provider had sent ${before} bytes when reading began`)
})

t.test('connections are reused', async t => {
  const pair = await startPair(t)
  for (let i = 0; i < 4; i++) await post(pair, { stream: i % 2 === 1 })
  const reused = pair.upstream.requests.map(seen => seen.reused)
  t.same(reused, [false, true, true, true])
  t.equal(pair.upstream.connections, 1)
})

t.test('an unreachable provider is a 502', async t => {
  const pair = await startPair(t)
  await pair.upstream.close()
  const answer = await post(pair, {})
  t.equal(answer.status, 502)
  t.match(JSON.parse(answer.text).error, { code: 'upstream_unreachable' })
})

t.test('legacy completions go to a provider that has the endpoint', async t => {
  const pair = await startPair(t)
  const body = { messages: undefined, prompt: [1, 2, 3], echo: true, suffix: 's', best_of: 2, logprobs: 3 }
  const { status, text } = await post(pair, body, '/completions')
  t.equal(status, 200)
  t.equal(JSON.parse(text).object, 'text_completion')
  const seen = await pair.upstream.nextRequest()
  t.equal(seen.path, '/v1/completions')
  t.same(seen.body, { model: 'gpt-5-nano', prompt: [1, 2, 3], echo: true, suffix: 's', best_of: 2, logprobs: 3 })
  const streamed = await post(pair, { messages: undefined, prompt: 'Hi', stream: true }, '/completions')
  t.equal(streamed.events.at(-1), '[DONE]')
  t.ok(streamed.events.slice(0, -1).every(event => event.object === 'text_completion' && !event.usage))
})

t.test('legacy completions are mapped to chat for a provider without the endpoint', async t => {
  const pair = await startPair(t, { dialect: 'groq' })
  pair.upstream.script(scripts.groqUsage({ text: 'fine' }))
  const streamed = await post(pair, { messages: undefined, prompt: 'How?', stream: true, user: 'u1' }, '/completions')
  t.equal(streamed.events.map(event => event.choices?.[0]?.text ?? '').join(''), 'fine')
  t.match((await pair.upstream.nextRequest()).body,
    { messages: [{ role: 'user', content: 'How?' }], max_completion_tokens: 16, user: 'u1' })
  const unmappable = { echo: true, suffix: 's', best_of: 2, logprobs: 1, prompt: [1, 2] }
  for (const [param, value] of Object.entries(unmappable)) {
    const { status, text } = await post(pair, { messages: undefined, prompt: 'x', [param]: value }, '/completions')
    t.match({ status, error: JSON.parse(text).error }, { status: 400, error: { param, code: 'unsupported_parameter' } })
  }
})

t.test('dialects: renamed and dropped fields, other finish reasons, other places of usage', async t => {
  const openai = await startPair(t, { dialect: 'openai' })
  await post(openai, { max_tokens: 5 })
  t.match((await openai.upstream.nextRequest()).body, { max_completion_tokens: 5, max_tokens: undefined })

  const mistral = await startPair(t, { dialect: 'mistral' })
  const answer = await post(mistral, { max_completion_tokens: 5, seed: 3, logit_bias: { 1: 2 } })
  t.equal(answer.headers['x-tollgate-dropped-params'], 'logit_bias')
  t.same((await mistral.upstream.nextRequest()).body, { model: 'gpt-5-nano', messages, max_tokens: 5, random_seed: 3 })

  const together = await startPair(t, { dialect: 'together' })
  together.upstream.script(scripts.eosFinish(), scripts.eosFinish())
  t.equal(JSON.parse((await post(together, {})).text).choices[0].finish_reason, 'stop')
  const { events } = await post(together, { stream: true })
  t.same(events.map(event => event.choices?.[0]?.finish_reason).filter(Boolean), ['stop'])

  const groq = await startPair(t, { dialect: 'groq' })
  groq.upstream.script(scripts.groqUsage())
  await post(groq, { stream: true })
  t.ok(await groq.gateway.line(({ completionTokens }) => completionTokens === 377))
})
