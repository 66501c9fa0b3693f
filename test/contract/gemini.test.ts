import type OpenAI from 'openai'
import { request } from 'undici'
import t, { type Test } from 'tap'
import type { ModelConfig, ProviderConfig } from '../../services/config/catalogue/types.ts'
import { Deadlines } from '../../services/shared/timers.ts'
import { JsonText } from '../../services/shared/json.ts'
import type { Download } from '../../services/media/media.ts'
import { createDownloader } from '../../services/media/download.ts'
import { createModelRegistry } from '../../services/models/registry.ts'
import { createProviders } from '../../services/providers/registry.ts'
import * as fixtures from '../fixtures/gemini/responses.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../helpers/gateway.ts'
import { page, problem, says, startGemini, type GeminiServer } from '../servers/gemini.ts'
import { cuts, finish, halfClose, head, reset, send, sequence, stall, startUpstream } from '../servers/upstream.ts'
import type { Script } from '../servers/upstream.ts'
import { clientNames, clients } from './clients.ts'
import { openaiSchema } from './openai-schemas.ts'
import { generous } from '../helpers/timeouts.ts'

const wholeSchema = openaiSchema('CreateChatCompletionResponse')
const chunkSchema = openaiSchema('CreateChatCompletionStreamResponse')

interface Pair { gateway: Gateway, server: GeminiServer }

async function startPair (
  t: Test, more: Partial<ProviderConfig> = {}, model: Partial<ModelConfig> = {}
): Promise<Pair> {
  const server = await startGemini()
  t.teardown(() => server.close().catch(() => {}))
  const provider = providerAt(server.baseUrl, { protocol: 'gemini', apiKey: 'gm-key', ...more })
  const deployments = [{ provider: provider.id, model: 'gemini-3.5-flash', weight: 1, priority: 0 }]
  const config = configFor(provider, { deployments, ...model })
  return { server, gateway: await startGateway(t, { config }) }
}

// Most tests share one gateway; each looks only at its own requests.
const shared = await startPair(t)

const messages = [{ role: 'user' as const, content: 'Hi' }]

async function post ({ gateway }: Pair, body: object = {}, path = '/chat/completions') {
  const answer = await request(gateway.url + path, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'chat', messages, ...body })
  })
  const text = await answer.body.text()
  const events = text.split('\n\n').filter(block => block.startsWith('data:')).map(block => block.slice(6))
  return {
    status: answer.statusCode,
    headers: answer.headers,
    text,
    body: text.startsWith('{') ? JSON.parse(text) : null,
    events: events.map(data => data === '[DONE]' ? data : JSON.parse(data))
  }
}

/** The SDK's stream helper, which moved between major versions. */
function streamHelper (client: OpenAI): OpenAI['chat']['completions']['stream'] {
  const { completions }: OpenAI['chat'] = 'stream' in client.chat.completions ? client.chat : Reflect.get(client.beta, 'chat')
  return completions.stream.bind(completions)
}

for (const name of clientNames) {
  t.test(`${name} reaches Gemini`, async t => {
    const { gateway, server } = shared
    const client = clients[name](gateway)
    server.script(says(fixtures.text), says(fixtures.text))
    const { data, response } = await client.chat.completions.create({ model: 'chat', messages }).withResponse()
    t.match(data, {
      id: 'chatcmpl-Zq4KaZ_aB8Cx1MkP0fWe8Ao',
      object: 'chat.completion',
      model: 'gemini-3.5-flash',
      choices: [{
        index: 0,
        message: { role: 'assistant', content: 'Grüße, 日本語 👩‍👩‍👧‍👦', refusal: null },
        finish_reason: 'stop'
      }],
      usage: {
        prompt_tokens: 11, completion_tokens: 9, total_tokens: 20, prompt_tokens_details: { cached_tokens: 4 }
      }
    })
    t.equal(response.headers.get('x-tollgate-upstream-model'), 'gemini-3.5-flash')
    const seen = server.requests.at(-1)
    t.equal(seen?.path, '/v1beta/models/gemini-3.5-flash:generateContent')
    t.same(seen?.body, { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] })
    t.notMatch(JSON.stringify(seen?.headers), gateway.key)

    const chunks = await Array.fromAsync(await client.chat.completions.create({
      model: 'chat', messages, stream: true, stream_options: { include_usage: true }
    }))
    t.equal(chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join(''), 'Grüße, 日本語 👩‍👩‍👧‍👦')
    t.match(chunks.at(-1)?.usage, { prompt_tokens: 11, completion_tokens: 9 })
    t.equal(server.requests.at(-1)?.path, '/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse')
  })

  t.test(`${name} calls tools and sends the results with their signatures`, async t => {
    const { gateway, server } = shared
    const client = clients[name](gateway)
    const tools = ['get_weather', 'get_time'].map(name => ({
      type: 'function' as const, function: { name, parameters: { type: 'object', properties: {} } }
    }))
    for (const isStreamed of [false, true]) {
      server.script(says(fixtures.parallelCalls))
      const request = { model: 'chat', messages, tools }
      const { choices } = isStreamed
        ? await streamHelper(client)(request).finalChatCompletion()
        : await client.chat.completions.create(request)
      t.equal(choices[0]?.finish_reason, 'tool_calls')
      const message = choices[0]?.message
      t.match(message?.tool_calls, [
        { id: 'k5vrs2o4', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Zürich","days":2}' } },
        { id: /^call_/, type: 'function', function: { name: 'get_time', arguments: '{}' } }
      ])
      const results = (message?.tool_calls ?? [])
        .map(call => ({ role: 'tool' as const, tool_call_id: call.id, content: '{"ok":true}' }))
      if (message === undefined) throw new Error('no message')
      const continued = { ...request, messages: [...messages, message, ...results] }
      const answer = await client.chat.completions.create(continued)
      t.equal(answer.choices[0]?.message.content, 'Hello! How can I help?', 'the server has found every signature in place')
      t.match(JSON.stringify(server.requests.at(-1)?.body), fixtures.signature, 'and it is the real one')
    }
  })
}

t.test('every form of answer validates against OpenAI\'s schema', async t => {
  const pair = shared
  const expected: Record<keyof typeof fixtures.all, object> = {
    text: { message: { content: 'Grüße, 日本語 👩‍👩‍👧‍👦' }, finish_reason: 'stop' },
    thinking: { message: { content: '4', reasoning_content: '**Adding**\n\nTwo and two.' }, finish_reason: 'stop' },
    parallelCalls: { message: { content: null }, finish_reason: 'tool_calls' },
    blockedPrompt: { message: { content: null, refusal: /PROHIBITED_CONTENT/ }, finish_reason: 'content_filter' },
    withheld: { message: { content: null, refusal: /SAFETY/ }, finish_reason: 'content_filter' },
    recited: { message: { content: 'It was the best of times', refusal: null }, finish_reason: 'content_filter' },
    usedUp: { message: { content: '' }, finish_reason: 'length' },
    malformedCall: {},
    twoCandidates: { message: { content: 'Heads.' }, finish_reason: 'stop' },
    withLogprobs: {
      message: { content: 'ja' },
      logprobs: { content: [{ token: 'ja', logprob: -0.12, bytes: [106, 97], top_logprobs: [{}, { token: 'né' }] }] }
    }
  }
  for (const [name, responses] of Object.entries(fixtures.all)) {
    pair.server.script(says(responses), says(responses))
    const whole = await post(pair)
    const streamed = await post(pair, { stream: true, stream_options: { include_usage: true } })
    if (name === 'malformedCall') {
      t.match([whole, streamed], [{ status: 502 }, { status: 502 }], 'nothing came of it')
      continue
    }
    t.match(whole.body.choices[0], expected[name as keyof typeof expected], name)
    t.equal(wholeSchema(whole.body), null, `${name}, whole`)
    const chunks = streamed.events.slice(0, -1)
    t.equal(streamed.events.at(-1), '[DONE]', name)
    for (const chunk of chunks) t.equal(chunkSchema(chunk), null, `${name}, streamed`)
    const choices = chunks.flatMap(chunk => chunk.choices).filter(choice => choice.index === 0)
    t.same(choices[0]?.delta.role, 'assistant', `${name}: the role comes first`)
    const texts = choices.map(({ delta }) => delta.content ?? '').join('')
    t.equal(texts, whole.body.choices[0].message.content ?? '', `${name}: the same text`)
    t.equal(choices.at(-1)?.finish_reason, whole.body.choices[0].finish_reason, `${name}: the same end`)
    const refusal = choices.find(({ delta }) => delta.refusal)?.delta.refusal ?? null
    t.same(refusal, whole.body.choices[0].message.refusal, `${name}: the same refusal`)
    t.same(chunks.at(-1)?.usage, whole.body.usage, `${name}: the same usage`)
  }
  const counted = pair.gateway.lines.filter(({ completionTokens }) => completionTokens === 89)
  t.equal(counted.length, 2, 'thoughts are counted, and paid for')
})

t.test('the service tier is that of the response\'s header, in OpenAI\'s words', async t => {
  for (const [theirs, ours] of [['standard', 'default'], ['priority', 'priority'], ['unspecified', undefined]] as const) {
    const tiered = says(fixtures.text, { headers: { 'x-gemini-service-tier': theirs } })
    shared.server.script(tiered, tiered)
    t.equal((await post(shared)).body.service_tier, ours)
    const { events } = await post(shared, { stream: true })
    t.same(new Set(events.slice(0, -1).map(event => event.service_tier)), new Set([ours]))
  }
})

t.test('several choices', async t => {
  const pair = shared
  pair.server.script(says(fixtures.twoCandidates), says(fixtures.twoCandidates))
  const { body } = await post(pair, { n: 2 })
  t.match(body.choices, [
    { index: 0, message: { content: 'Heads.' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'Tails!' }, finish_reason: 'length' }
  ])
  const { events } = await post(pair, { n: 2, stream: true })
  const ends = events.flatMap(event => event.choices ?? []).filter(choice => choice.finish_reason !== null)
  t.match(ends, [{ index: 0, finish_reason: 'stop' }, { index: 1, finish_reason: 'length' }])
})

t.test('calls are returned as function_call to a legacy client', async t => {
  const pair = shared
  pair.server.script(says(fixtures.parallelCalls), says(fixtures.parallelCalls))
  const functions = [{ name: 'get_weather', parameters: {} }]
  const { body } = await post(pair, { functions })
  t.match(body.choices[0], { message: { function_call: { name: 'get_weather' } }, finish_reason: 'function_call' })
  const { events } = await post(pair, { functions, stream: true })
  const calls = events.flatMap(event => event.choices ?? []).filter(choice => choice.delta.function_call)
  t.match(calls, [{ delta: { function_call: { name: 'get_weather', arguments: '{"city":"Zürich","days":2}' } } }])
})

t.test('however the network cuts a stream, the client reads the same text', async t => {
  const pair = shared
  const variants: Record<string, Script> = {
    'byte by byte': says(fixtures.text, { cut: cuts.everyByte }),
    'inside characters': says(fixtures.text, { cut: cuts.insideCharacters }),
    'all at once': says(fixtures.text, { cut: cuts.onePacket }),
    comments: says(fixtures.text, { events: events => events.flatMap(event => [': ping\r\n\r\n', event]) }),
    'LF line ends': says(fixtures.text, { events: events => events.map(event => event.replaceAll('\r', '')) }),
    'no last line end': says(fixtures.text, { events: events => events.with(-1, events.at(-1)?.trimEnd() ?? '') }),
    ...Object.fromEntries([1, 2, 3].map(seed => [`seed ${seed}`, says(fixtures.text, { cut: cuts.anywhere(seed) })]))
  }
  for (const [name, script] of Object.entries(variants)) {
    pair.server.script(script)
    const { events } = await post(pair, { stream: true })
    t.equal(events.map(event => event.choices?.[0]?.delta.content ?? '').join(''), 'Grüße, 日本語 👩‍👩‍👧‍👦', name)
    t.equal(events.at(-1), '[DONE]', name)
  }
})

t.test('a large event passes whole', async t => {
  const pair = shared
  const text = 'x'.repeat(4 * 2 ** 20)
  pair.server.script(says([{ candidates: [{ content: { parts: [{ text }] }, finishReason: 'STOP' }] }]))
  const { events } = await post(pair, { stream: true })
  t.equal(events.map(event => event.choices?.[0]?.delta.content ?? '').join('').length, text.length)
})

t.test('an error of the service becomes the client\'s error', async t => {
  const pair = shared
  const retry = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '17.4s' }]
  const tooLong = 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).'
  const cases: [string, Script, object][] = [
    ['bad request', problem(400, 'INVALID_ARGUMENT', 'Invalid value at x'), { status: 400, error: { message: /Invalid value/ } }],
    ['too long', problem(400, 'INVALID_ARGUMENT', tooLong), { status: 400, error: { code: 'context_length_exceeded', param: 'messages' } }],
    ['precondition', problem(400, 'FAILED_PRECONDITION', 'User location is not supported.'), { status: 400 }],
    ['no key', problem(401, 'UNAUTHENTICATED', 'Expected OAuth 2'), { status: 502, error: { code: 'upstream_auth' } }],
    ['forbidden', problem(403, 'PERMISSION_DENIED', 'Blocked.'), { status: 502, error: { code: 'upstream_auth' } }],
    ['no such model', problem(404, 'NOT_FOUND', 'models/x is not found'), { status: 404, error: { code: 'model_not_found' } }],
    ['quota', problem(429, 'RESOURCE_EXHAUSTED', 'Quota.', retry), { status: 429, retryAfter: '18', error: { code: 'rate_limit_exceeded' } }],
    ['cancelled', problem(499, 'CANCELLED', 'x'), { status: 502 }],
    ['internal', problem(500, 'INTERNAL', 'An internal error has occurred.'), { status: 502 }],
    ['not implemented', problem(501, 'UNIMPLEMENTED', 'x'), { status: 400 }],
    ['overloaded', problem(503, 'UNAVAILABLE', 'The model is overloaded.'), { status: 503, retryAfter: '1' }],
    ['too slow', problem(504, 'DEADLINE_EXCEEDED', 'x'), { status: 504 }],
    ['a page', page(502, '<html>'), { status: 502 }],
    ['a page instead of JSON', page(200, '<html>'), { status: 502, error: { code: 'upstream_bad_reply' } }],
    ['nothing', says([{}]), { status: 502 }],
    ['reset', exchange => reset(exchange), { status: 502, error: { code: 'upstream_unreachable' } }]
  ]
  for (const [name, script, expected] of cases) {
    for (const stream of [false, true]) {
      pair.server.script(script)
      const { status, headers, body } = await post(pair, { stream })
      t.match({ status, retryAfter: headers['retry-after'], error: body.error }, expected, `${name}, stream ${stream}`)
      t.same(Object.keys(body.error), ['message', 'type', 'param', 'code'])
    }
  }
  const wrongKey = await startPair(t, { apiKey: 'gm-wrong' })
  const { status, text } = await post(wrongKey)
  t.match({ status, text }, { status: 502, text: /upstream_auth/ }, 'Gemini reports a wrong key as an invalid argument')
  t.notMatch(text, 'gm-wrong')
})

t.test('a failed stream ends with an error event and without [DONE]', async t => {
  const timeouts = { ...generous, idleMs: 1_500 }
  const pair = await startPair(t, { timeouts })
  const error = (code: number, status: string) => `data: ${JSON.stringify({ error: { code, message: 'x', status } })}\r\n\r\n`
  const after = (...more: string[]) => says(fixtures.text, { events: ([first = '']) => [first, ...more] })
  const cutAfter = (end: Script) => says(fixtures.text, { cut: cuts.breakAfter(1), end })
  const flood = Array.from({ length: 40 }, () => `: ${'x'.repeat(16 * 1024)}\n\n`)
  const breaks: Record<string, Script> = {
    'error event': after(error(503, 'UNAVAILABLE')),
    'error event in a list': after(`data: [${JSON.stringify({ error: { code: 500, message: 'x', status: 'INTERNAL' } })}]\n\n`),
    malformed: after('data: {"candidates":\n\n'),
    'not an object': after('data: 7\n\n'),
    'no finish reason': cutAfter(finish),
    'cut inside an event': after('data: {"candidates": [{"con'),
    reset: cutAfter(reset),
    'half closed': cutAfter(halfClose),
    stall: cutAfter(stall),
    'flood of comments': after(...flood)
  }
  for (const [name, script] of Object.entries(breaks)) {
    pair.server.script(script)
    const { status, events, text } = await post(pair, { stream: true })
    t.equal(status, 200, name)
    t.match(events.at(-1), { error: { message: String, param: null, code: String } }, name)
    t.notMatch(text, '[DONE]', name)
    t.equal(events[1]?.choices[0].delta.content, 'Grüße, ', `${name}: what came before arrives`)
  }
})

t.test('a stream that fails before its first content fails with a status', async t => {
  const timeouts = { ...generous, firstByteMs: 2_000, idleMs: 2_000 }
  const pair = await startPair(t, { timeouts })
  const first = (event: string) => says(fixtures.text, { events: () => [event] })
  const early: [string, Script, number][] = [
    ['error event', first('data: {"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}\n\n'), 429],
    ['malformed', first('data: {\n\n'), 502],
    ['nothing', first(''), 502],
    ['silence', stall, 504],
    ['a head and silence', sequence(head({ 'content-type': 'text/event-stream' }), stall), 504],
    ['JSON instead', sequence(head({ 'content-type': 'application/json' }), send([Buffer.from('{}')]), finish), 502]
  ]
  for (const [name, script, expected] of early) {
    pair.server.script(script)
    t.equal((await post(pair, { stream: true })).status, expected, name)
  }
})

t.test('a client that disconnects aborts the request to Gemini', async t => {
  const pair = await startPair(t)
  pair.server.script(says(fixtures.text, { cut: cuts.breakAfter(1), end: stall }))
  const leaving = new AbortController()
  const answer = await request(`${pair.gateway.url}/chat/completions`, {
    method: 'POST',
    headers: pair.gateway.headers,
    body: JSON.stringify({ model: 'chat', messages, stream: true }),
    signal: leaving.signal
  })
  const seen = await pair.server.nextRequest()
  leaving.abort()
  await answer.body.dump().catch(() => {})
  await seen.closed
  t.ok(seen.aborted)
})

t.test('usage is charged, even for a stream that broke off', async t => {
  const price = {
    inputPico: 1_500_000,
    outputPico: 9_000_000,
    cacheReadPico: 150_000,
    cacheWritePico: null,
    imageNano: null,
    secondNano: null
  }
  const pair = await startPair(t, {}, { price, maxOutput: 1000 })
  pair.server.script(
    says(fixtures.thinking), says(fixtures.text),
    says(fixtures.thinking, { cut: cuts.breakAfter(2), end: reset })
  )
  const { headers } = await post(pair)
  t.equal(headers['x-tollgate-cost'], '0.000819', '12 tokens in, 89 out')
  // 7 tokens at the full price, 4 at the cached price, 9 output tokens.
  t.equal((await post(pair)).headers['x-tollgate-cost'], '0.0000921')
  await post(pair, { stream: true })
  const line = await pair.gateway.line(({ completionTokens }) => completionTokens === 88)
  t.match(line, { promptTokens: 12 }, 'as far as it got')
})

t.test('dropped fields are reported, and unsupported ones refused before the call', async t => {
  const pair = shared
  const { headers } = await post(pair, { logit_bias: { 1: 1 }, user: 'u' })
  t.equal(headers['x-tollgate-dropped-params'], 'logit_bias, user')
  const { status, body } = await post(pair, { tools: [{ type: 'custom', custom: { name: 'c' } }] })
  t.match({ status, body }, { status: 400, body: { error: { param: 'tools[0].type', code: 'unsupported_parameter' } } })
  t.same(pair.server.requests.at(-1)?.body, { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] })
})

t.test('an image URL is fetched, and the image is sent', async t => {
  const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
  const image = sequence(head({ 'content-type': 'text/html' }), send([png]), finish)
  const images = await startUpstream({ route: () => image })
  t.teardown(() => images.close())
  const server = await startGemini()
  t.teardown(() => server.close())
  // The real download, with the local server as a trusted origin.
  const origins = new Set([new URL(images.url).origin])
  const { download, close } = createDownloader({ trustedOrigins: () => origins })
  t.teardown(close)
  const trusting: Download = (url, options) => download(url, { ...options, provider: 'x' })
  const providers = createProviders(new Deadlines(), () => {}, trusting)
  t.teardown(() => providers.close())
  providers.apply([providerAt(server.baseUrl, { protocol: 'gemini', apiKey: 'gm-key' })])
  const part = { type: 'image_url' as const, image_url: { url: `${images.url}/a.png` } }
  const request = { model: 'm', messages: [{ role: 'user' as const, content: [part] }] }
  const { signal } = new AbortController()
  const call = { body: request, rawBody: JsonText.from(request), model: 'gemini-3.5-flash', requestId: 'r', signal }
  await providers.get('up')?.chat?.({ ...call, outputLimit: null })
  const inlineData = { mimeType: 'image/png', data: png.toString('base64') }
  t.same((await server.nextRequest()).body, { contents: [{ role: 'user', parts: [{ inlineData }] }] })
})

t.test('an image at a private address is not fetched for a client', async t => {
  const pair = shared
  const before = pair.server.requests.length
  for (const url of ['http://127.0.0.1:1/a.png', 'https://127.0.0.1:1/a.png', 'https://[::1]:1/a.png']) {
    const ask = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
    const error = { code: 'invalid_image_url', param: 'messages[0].content[0].image_url.url' }
    t.match(await post(pair, { messages: ask }), { status: 400, body: { error } })
  }
  t.equal(pair.server.requests.length, before)
})

t.test('legacy completions are mapped to chat', async t => {
  const pair = shared
  pair.server.script(says(fixtures.text), says(fixtures.text))
  const { body } = await post(pair, { messages: undefined, prompt: 'Hi' }, '/completions')
  t.match(body, { object: 'text_completion', choices: [{ text: 'Grüße, 日本語 👩‍👩‍👧‍👦', finish_reason: 'stop' }] })
  const { events } = await post(pair, { messages: undefined, prompt: 'Hi', stream: true }, '/completions')
  t.equal(events.map(event => event.choices?.[0]?.text ?? '').join(''), 'Grüße, 日本語 👩‍👩‍👧‍👦')
})

t.test('models are listed from all pages, without the models/ prefix', async t => {
  const server = await startGemini({ models: ['gemini-3.5-flash', 'gemini-x', 'gemini-embedding-001'], pageSize: 1 })
  t.teardown(() => server.close())
  const provider = providerAt(server.baseUrl, { id: 'gemini', protocol: 'gemini', apiKey: 'gm-key', discover: true })
  const gateway = await startGateway(t, { config: { ...configFor(provider), models: [] } })
  const lists = async (): Promise<string[]> => {
    const { body } = await request(`${gateway.url}/models`, { headers: gateway.headers })
    const list = await body.json() as { data: { id: string }[] }
    return list.data.map(({ id }) => id)
  }
  let ids = await lists()
  while (!ids.includes('gemini/gemini-x')) ids = await lists()
  t.same(ids, ['gemini/gemini-3.5-flash', 'gemini/gemini-x'])
  const { model } = createModelRegistry({ providers: [provider], models: [] }).resolve('gemini/gemini-3.5-flash') ?? {}
  t.match(model, { price: { inputPico: 1_500_000 }, capabilities: { tools: true } }, 'the catalogue knows it')
})
