import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GoogleGenAI } from '@google/genai'
import { OAuth2Client } from 'google-auth-library'
import t, { type Test } from 'tap'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import type { GatewayConfig } from '../../services/config/catalogue/types.ts'
import { parseConfig } from '../../services/config/read/parse.ts'
import { vertexUrl } from '../../services/config/read/vertex.ts'
import { isObject } from '../../services/shared/json.ts'
import { root } from '../helpers/documents.ts'
import { startGateway } from '../helpers/gateway.ts'
import { rejection } from '../helpers/thrown.ts'
import { until } from '../helpers/until.ts'
import { reply } from '../servers/anthropic.ts'
import { problem, says } from '../servers/gemini.ts'
import { cuts, stall, type Script } from '../servers/upstream.ts'
import { film, startVertex } from '../servers/vertex.ts'
import { clientNames, clients } from './clients.ts'
import { anthropicAt, ask } from './messages/clients.ts'

const example = readFileSync(join(root, 'examples/vertex.yaml'), 'utf8')

/** A gateway with the example, in front of a Vertex AI of its own. */
async function startPair (t: Test, edit: (config: GatewayConfig) => void = () => {}) {
  const server = await startVertex()
  t.teardown(async () => {
    await server.close()
    if (server.faults.length > 0) throw new Error(server.faults.join('; '))
  })
  const credentials = JSON.stringify(server.identity.keyFile(server.origin))
  const file = join(t.testdir({ 'key.json': credentials }), 'key.json')
  const env = { GOOGLE_CLOUD_PROJECT: 'acme-prod', GOOGLE_APPLICATION_CREDENTIALS: file }
  const config = parseConfig(example, env)
  const changed = { baseUrl: server.origin, discover: false }
  for (const provider of config.providers) Object.assign(provider, changed)
  Object.assign(config.requests, { backoffMs: 1 })
  edit(config)
  const gateway = await startGateway(t, { config })
  return { server, gateway, openai: clients['openai 7'](gateway), anthropic: anthropicAt(gateway) }
}

const shared = await startPair(t)
const messages = [{ role: 'user' as const, content: 'Hi' }]
const regional = '/projects/acme-prod/locations/eu/publishers'

t.test('the example is read with the addresses of its regions', async t => {
  const { providers } = parseConfig(example, { GOOGLE_CLOUD_PROJECT: 'acme-prod' })
  t.match(providers, [
    { id: 'vertex', protocol: 'vertex', baseUrl: 'https://aiplatform.eu.rep.googleapis.com', region: 'eu', credentials: null },
    { id: 'vertex-open', dialect: 'vertex', baseUrl: 'https://europe-west4-aiplatform.googleapis.com', project: 'acme-prod' }
  ])
  t.equal(vertexUrl('global'), 'https://aiplatform.googleapis.com')
})

const cases = [
  {
    model: 'gemini-3.5-flash',
    text: 'Hello from Gemini.',
    // 4 × 1.5 + 12 × 9
    cost: '0.000114',
    path: `/v1beta1${regional}/google/models/gemini-3.5-flash:generateContent`,
    streamed: `/v1beta1${regional}/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse`
  },
  {
    model: 'claude-sonnet-4-6',
    text: 'Hello from Claude.',
    // 25 × 3.3 + 15 × 16.5
    cost: '0.00033',
    path: `/v1${regional}/anthropic/models/claude-sonnet-4-6:rawPredict`,
    streamed: `/v1${regional}/anthropic/models/claude-sonnet-4-6:streamRawPredict`
  },
  {
    model: 'llama-3.3-70b',
    text: 'Hello from Llama.',
    // 15 × 0.72
    cost: '0.0000108',
    path: '/v1/projects/acme-prod/locations/europe-west4/endpoints/openapi/chat/completions',
    streamed: '/v1/projects/acme-prod/locations/europe-west4/endpoints/openapi/chat/completions'
  }
]

for (const name of clientNames) {
  for (const { model, text, cost, path, streamed } of cases) {
    t.test(`${name} reaches ${model}, whole and streamed, at its exact price`, async t => {
      const client = clients[name](shared.gateway)
      const { data, response } = await client.chat.completions.create({ model, messages }).withResponse()
      t.equal(data.choices[0]?.message.content, text)
      t.equal(response.headers.get('x-tollgate-cost'), cost)
      t.equal(shared.server.calls.at(-1)?.path, path)
      const stream = await client.chat.completions.create({
        model, messages, stream: true, stream_options: { include_usage: true }
      })
      const chunks = await Array.fromAsync(stream)
      t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), text)
      t.same(chunks.at(-1)?.usage?.total_tokens, data.usage?.total_tokens)
      t.match(chunks.at(-1), { usage: { cost: Number(cost) } })
      t.equal(shared.server.calls.at(-1)?.path, streamed)
    })
  }
}

for (const isStream of [false, true]) {
  t.test(`Anthropic's SDK reaches Claude natively, and Gemini by translation, ${isStream ? 'streamed' : 'whole'}`, async t => {
    const { anthropic, server } = shared
    const params = { max_tokens: 64, messages, model: 'claude-sonnet-4-6' }
    const asked = { ...params, top_k: 5 }
    t.match(await ask(anthropic, asked, isStream), { content: [{ type: 'text', text: 'Hello from Claude.' }] })
    const { stream = false, ...sent } = server.calls.at(-1)?.body ?? {}
    t.same(sent, { max_tokens: 64, messages, top_k: 5, anthropic_version: '2026-10-21' }, 'the version that the SDK has stated')
    t.equal(stream, isStream)
    t.match(await ask(anthropic, { ...params, model: 'gemini-3.5-flash' }, isStream), { content: [{ text: 'Hello from Gemini.' }] })
  })
}

t.test('tokens of a message are counted by Claude, and estimated for other models', async t => {
  const { anthropic, server } = shared
  t.match(await anthropic.messages.countTokens({ model: 'claude-sonnet-4-6', messages }), { input_tokens: 25 })
  t.match(server.calls.at(-1), { path: `/v1${regional}/anthropic/models/count-tokens:rawPredict`, body: { model: 'claude-sonnet-4-6' } })
  const before = server.calls.length
  t.ok((await anthropic.messages.countTokens({ model: 'gemini-3.5-flash', messages })).input_tokens > 0)
  t.equal(server.calls.length, before)
})

t.test('the requests are those of Anthropic\'s SDK for Vertex AI', async t => {
  const { requests } = JSON.parse(readFileSync(join(root, 'test/fixtures/vertex/anthropic-requests.json'), 'utf8'))
  const { anthropic, server } = shared
  const params = { max_tokens: 64, messages, model: 'claude-sonnet-4-6' }
  const betas = ['context-management-2025-06-27']
  server.calls.length = 0
  await anthropic.messages.create(params)
  await ask(anthropic, params, true)
  await anthropic.messages.countTokens({ model: params.model, messages })
  await anthropic.beta.messages.create({ ...params, betas })
  const own = server.calls.map(({ path, headers, body }) => {
    return { path, beta: headers['anthropic-beta'], body: { ...body, anthropic_version: undefined } }
  })
  const expected = requests.filter(({ url }: { url: string }) => url.includes('/locations/eu/')).map((request: typeof requests[0]) => ({
    path: new URL(request.url).pathname.replace('%40', '@'),
    beta: request.headers['anthropic-beta'],
    body: { ...request.body, anthropic_version: undefined }
  }))
  t.same(own, expected)
  for (const { url } of requests) {
    const region = /locations\/([^/]+)/.exec(url)?.[1] ?? ''
    t.equal(new URL(url).origin, vertexUrl(region))
  }
})

t.test('the requests are those of Google\'s SDK in Vertex AI\'s mode', async t => {
  const { server, openai } = shared
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token: server.identity.tokens.at(-1) ?? '', expiry_date: Date.now() + 3_600_000 })
  const client = new GoogleGenAI({
    vertexai: true, project: 'acme-prod', location: 'eu', googleAuthOptions: { authClient }, httpOptions: { baseUrl: server.origin }
  })
  server.calls.length = 0
  const config = { maxOutputTokens: 50, temperature: 0.5, systemInstruction: { parts: [{ text: 'Be brief.' }] } }
  const contents = [{ role: 'user', parts: [{ text: 'Hi' }] }]
  await client.models.generateContent({ model: 'gemini-3.5-flash', contents, config })
  await Array.fromAsync(await client.models.generateContentStream({ model: 'gemini-3.5-flash', contents, config }))
  await client.models.generateImages({ model: 'imagen-4.0-generate-001', prompt: 'A cat', config: { numberOfImages: 1, includeRaiReason: true } })
  const theirs = server.calls.splice(0)
  const body = {
    model: 'gemini-3.5-flash',
    messages: [{ role: 'system' as const, content: 'Be brief.' }, ...messages],
    max_tokens: 50,
    temperature: 0.5
  }
  await openai.chat.completions.create(body)
  await Array.fromAsync(await openai.chat.completions.create({ ...body, stream: true }))
  await openai.images.generate({ model: 'imagen-4', prompt: 'A cat' })
  t.same(server.calls.map(({ path, body }) => ({ path, body: { ...body } })), theirs.map(({ path, body }) => {
    // Its role of a system instruction is `user`, which is not read.
    const { systemInstruction: system, ...others } = body ?? {}
    if (!isObject(system)) return { path, body: others }
    return { path, body: { ...others, systemInstruction: { parts: system.parts } } }
  }))
})

t.test('images of Imagen have a price each, and a filtered prompt is refused', async t => {
  const { server, openai } = shared
  const { data, response } = await openai.images.generate({ model: 'imagen-4', prompt: 'A cat', n: 6 }).withResponse()
  t.equal(data.data?.length, 6)
  t.equal(response.headers.get('x-tollgate-cost'), '0.24')
  t.same(server.calls.slice(-2).map(({ body }) => Object(body?.parameters).sampleCount).toSorted(), [2, 4])
  const filtered = { predictions: [{ raiFilteredReason: 'The prompt shows a celebrity.' }] }
  server.script(exchange => { exchange.response.end(JSON.stringify(filtered)) })
  t.match(await rejection(openai.images.generate({ model: 'imagen-4', prompt: 'A star' })), {
    status: 400, code: 'content_policy_violation'
  })
})

t.test('a video of Veo that is part of the response is stored here, and charged by its length', async t => {
  const { server, gateway } = shared
  Object.assign(gateway.app.providers.get('vertex')?.videos?.polling ?? {}, { minMs: 20, maxMs: 50 })
  const response = await fetch(`${gateway.url}/chat/completions`, {
    method: 'POST', headers: gateway.headers, body: JSON.stringify({ model: 'veo-3.1', messages, video: { seconds: 4, audio: false } })
  })
  const { choices, usage } = JSON.parse(await response.text())
  t.match(usage, { cost: 1.6 })
  const video = await fetch(choices[0].message.content)
  t.ok(film.equals(Buffer.from(await video.arrayBuffer())))
  const [submit, poll] = server.calls.slice(-2)
  t.match(submit?.body, { parameters: { sampleCount: 1, durationSeconds: 4, generateAudio: false, resolution: '720p' } })
  t.match(poll?.path, `${regional}/google/models/veo-3.1-generate-001:fetchPredictOperation`)
})

const unauthenticated = problem(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')

t.test('many requests share one token, which is renewed once when the service refuses it', async t => {
  const { server, openai } = await startPair(t)
  const create = async () => await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })
  await Promise.all(Array.from({ length: 8 }, create))
  t.equal(server.identity.tokens.length, 1)
  server.identity.revoke()
  await Promise.all(Array.from({ length: 8 }, create))
  t.equal(server.identity.tokens.length, 2)
  // It goes on refusing: one more attempt with the same token, no storm of renewals.
  server.script(...Array.from({ length: 8 }, () => unauthenticated))
  t.match(await rejection(create()), { status: 502 })
  t.equal(server.identity.tokens.length, 2)
})

t.test('a token that ends in mid-stream does not end the stream, and the next request has another', async t => {
  const { server, openai } = await startPair(t)
  const responses = ['Hello ', 'from ', 'Gemini.'].map((text, at) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, index: 0, ...(at === 2 ? { finishReason: 'STOP' as const } : {}) }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: at + 1, totalTokenCount: at + 5 }
  }))
  server.script(says(responses, { cut: cuts.insideCharacters }))
  const stream = await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages, stream: true })
  let text = ''
  for await (const { choices } of stream) {
    server.identity.revoke()
    text += choices[0]?.delta.content ?? ''
  }
  t.equal(text, 'Hello from Gemini.')
  const { choices } = await openai.chat.completions.create({ model: 'claude-sonnet-4-6', messages })
  t.equal(choices[0]?.message.content, 'Hello from Claude.')
  t.equal(server.identity.tokens.length, 2)
})

t.test('a token that ends between retries is renewed', async t => {
  const { server, openai } = await startPair(t)
  const overloaded: Script = exchange => {
    server.identity.revoke()
    return problem(503, 'UNAVAILABLE', 'The service is currently unavailable.')(exchange)
  }
  server.script(overloaded, reply({ said: ['Here again.'] }))
  const { choices } = await openai.chat.completions.create({ model: 'claude-sonnet-4-6', messages })
  t.equal(choices[0]?.message.content, 'Here again.')
  t.equal(server.calls.length, 3, 'unavailable, refused, answered')
})

t.test('tokens that last for minutes are renewed ahead, without a request that waits', async t => {
  const { server, openai } = await startPair(t)
  server.identity.lastsS = 200
  for (let count = 0; count < 2; count++) await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })
  await until(async () => server.identity.tokens.length === 2)
  server.identity.script.push({ status: 503, body: '' })
  await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })
})

t.test('an identity service that refuses is an error of the provider, and no secret is in a response or the log', async t => {
  const { server, openai, gateway } = await startPair(t)
  const refused = { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' }
  server.identity.script.push(...Array.from({ length: 4 }, () => ({ status: 400, body: refused })))
  const error = await rejection(openai.chat.completions.create({ model: 'gemini-3.5-flash', messages }))
  t.match(error, { status: 502 })
  t.equal(server.calls.length, 0, 'nothing was sent without a token')
  server.identity.script.length = 0
  await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })
  const [token = ''] = server.identity.tokens
  server.script(problem(400, 'INVALID_ARGUMENT', `You sent ${token}.`), problem(500, 'INTERNAL', `Bearer ${token}`))
  const said = [
    await rejection(openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })),
    await rejection(openai.chat.completions.create({ model: 'claude-sonnet-4-6', messages }))
  ]
  for (const text of [JSON.stringify(gateway.lines), ...said.map(String)]) t.notMatch(text, /ya29\.|PRIVATE KEY|eyJ/)
})

t.test('errors of Google have their meaning and their retry hints, in each of its forms', async t => {
  const { server, openai } = await startPair(t, ({ requests }) => { Object.assign(requests, { retries: 0 }) })
  const retry = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }]
  const daily = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure', violations: [{ quotaId: 'RequestsPerDayPerProject' }] }]
  for (const model of ['gemini-3.5-flash', 'claude-sonnet-4-6', 'llama-3.3-70b']) {
    server.script(problem(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).', retry))
    const error = await rejection(openai.chat.completions.create({ model, messages }))
    t.match(error, { status: 429, headers: { get: Function } })
    t.equal(Reflect.get(Object(error), 'headers').get('retry-after'), '7', model)
  }
  server.script(problem(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', daily))
  t.match(await rejection(openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })), { status: 502 })
})

t.test('a model that is not in the region is an error of the configuration', async t => {
  const { openai } = await startPair(t, ({ providers }) => { Object.assign(providers[0] ?? {}, { region: 'europe-west4' }) })
  await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })
  t.match(await rejection(openai.chat.completions.create({ model: 'claude-sonnet-4-6', messages })), { status: 404 })
  const other = await startPair(t, ({ providers }) => { Object.assign(providers[0] ?? {}, { project: 'other' }) })
  t.match(await rejection(other.openai.chat.completions.create({ model: 'gemini-3.5-flash', messages })), { status: 502 })
})

t.test('a client that leaves while a stream is silent closes the call', async t => {
  const { server, openai } = await startPair(t)
  server.script(says([{ candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, index: 0 }] }], { end: stall }))
  const stream = await openai.chat.completions.create({ model: 'gemini-3.5-flash', messages, stream: true })
  await stream[Symbol.asyncIterator]().next()
  stream.controller.abort()
  await server.calls[0]?.closed
  t.equal(server.calls[0]?.aborted, true)
})

t.test('the models that the service lists are offered', async t => {
  const { gateway } = shared
  const names = await gateway.app.providers.get('vertex')?.models?.(AbortSignal.timeout(10_000))
  t.same(names, [
    'gemini-3.5-flash', 'gemini-2.5-pro', 'imagen-4.0-generate-001', 'veo-3.1-generate-001', 'claude-sonnet-4-6', 'claude-haiku-4-5'
  ])
  t.equal(gateway.app.providers.get('vertex-open')?.models, undefined)
})

t.test('the books are right', async t => {
  t.strictSame(await checkLedger(shared.gateway.app.store), [])
})
