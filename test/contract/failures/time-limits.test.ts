import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { requestsDefaults } from '../../../services/config/defaults.ts'
import type { GatewayConfig, ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { keepOpen } from '../../helpers/keep-open.ts'
import { generous } from '../../helpers/timeouts.ts'

type Protocol = 'openai' | 'anthropic' | 'gemini'

const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }
const chat = { id: 'c1', object: 'chat.completion', created: 1, model: 'm', choices: [{ index: 0, message: { role: 'assistant', content: 'Late.' }, finish_reason: 'stop' }], usage }
/** A whole answer, by the path that asks for it. */
const answers: [path: RegExp, answer: object][] = [
  [/\/chat\/completions$/, chat],
  [/\/completions$/, { ...chat, object: 'text_completion', choices: [{ index: 0, text: 'Late.', finish_reason: 'stop', logprobs: null }] }],
  [/\/responses$/, {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    usage: { input_tokens: 8, output_tokens: 2, total_tokens: 10 },
    output: [{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [{ type: 'output_text', text: 'Late.', annotations: [] }] }]
  }],
  [/\/messages$/, {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    stop_reason: 'end_turn',
    stop_sequence: null,
    content: [{ type: 'text', text: 'Late.' }],
    usage: { input_tokens: 8, output_tokens: 2 }
  }],
  [/:generateContent/, {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Late.' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 2, totalTokenCount: 10 }
  }]
]
const surfaces = {
  '/chat/completions': { messages: [{ role: 'user', content: 'Hi' }] },
  '/completions': { prompt: 'Hi' },
  '/responses': { input: 'Hi' },
  '/messages': { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }
}

type Respond = (response: ServerResponse, answer: string) => Promise<void> | void

interface Shop { url: string, headers: Record<string, string>, calls: () => number }

/** A gateway in front of `count` providers that answer as `respond` does. */
async function open (
  t: Test, respond: Respond, provider: Partial<ProviderConfig> = {}, { count = 1, requests = {} }:
  { count?: number, requests?: Partial<GatewayConfig['requests']> } = {}
): Promise<Shop> {
  let calls = 0
  const server = createServer(keepOpen, async (incoming: IncomingMessage, response) => {
    await incoming.resume().toArray()
    calls++
    const [, answer] = answers.find(([path]) => path.test(incoming.url ?? '')) ?? []
    response.on('error', () => {})
    await respond(response, JSON.stringify(answer))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const providers = Array.from({ length: count }, (_, at) => providerAt(url, { ...provider, id: `p${at}` }))
  const deployments = providers.map(({ id }) => ({ provider: id, model: 'm', weight: 1, priority: 0 }))
  const config = configFor(providers[0] ?? providerAt(url), { deployments })
  const gateway = await startGateway(t, {
    config: { ...config, providers, requests: { ...requestsDefaults, backoffMs: 1, ...requests } }
  })
  return { url: gateway.url, headers: gateway.headers, calls: () => calls }
}

async function post ({ url, headers }: Shop, path: string, body: object, more: Record<string, string> = {}) {
  const answer = await request(url + path, {
    method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify({ model: 'chat', ...body })
  })
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
}

const lateMs = 500
const late: Respond = async (response, answer) => {
  await sleep(lateMs)
  response.setHeader('content-type', 'application/json').end(answer)
}
/** A server that sends the head, and white space while it works. */
const trickled: Respond = async (response, answer) => {
  response.setHeader('content-type', 'application/json').write('\n')
  await late(Object.assign(response, { setHeader: () => response }), answer)
}
const short: ProviderConfig['timeouts'] = { ...generous, firstByteMs: 200, idleMs: 200 }
const silent: Respond = () => {}

const providers: Record<string, Partial<ProviderConfig>> = {
  openai: { dialect: 'openai' }, vllm: { dialect: 'vllm' }, anthropic: { protocol: 'anthropic' as Protocol }, gemini: { protocol: 'gemini' as Protocol }
}

for (const [name, provider] of Object.entries(providers)) {
  t.test(`a whole answer of ${name} that takes longer than the first byte of a stream may arrives with one call`, async t => {
    for (const respond of name === 'openai' ? [late, trickled] : [late]) {
      const shop = await open(t, respond, { ...provider, timeouts: short })
      await Promise.all(Object.entries(surfaces).map(async ([path, body]) => {
        const { status, headers, text } = await post(shop, path, body)
        t.match({ status, text }, { status: 200, text: /Late\./ }, path)
        t.equal(headers['x-tollgate-attempts'], '1', path)
      }))
      t.equal(shop.calls(), Object.keys(surfaces).length)
    }
  })
}

t.test('a whole answer that is not there at the total limit is not generated again, by gateway or SDK', async t => {
  const shop = await open(t, silent, { timeouts: { ...generous, totalMs: 500 } })
  for (const [path, body] of Object.entries(surfaces)) {
    const before = shop.calls()
    const { status, headers, text } = await post(shop, path, body)
    t.match({ status, text }, { status: 504, text: /did not finish within 500 ms/ }, path)
    t.equal(headers['x-should-retry'], 'false', path)
    t.equal(shop.calls() - before, 1, path)
  }
  const elsewhere = await open(t, silent, { timeouts: { ...generous, totalMs: 500 } }, { count: 2 })
  t.equal((await post(elsewhere, '/chat/completions', surfaces['/chat/completions'])).status, 504)
  t.equal(elsewhere.calls(), 2, 'each deployment is called once')
  const once = { count: 2, requests: { retryUnsure: false } }
  const careful = await open(t, silent, { timeouts: { ...generous, totalMs: 500 } }, once)
  t.equal((await post(careful, '/chat/completions', surfaces['/chat/completions'])).status, 504)
  t.equal(careful.calls(), 1, 'unless the operator forbids it')
})

t.test('a stream without a first byte fails over at its short limit, and each deployment is called once', async t => {
  const shop = await open(t, silent, { timeouts: short }, { count: 2 })
  const { status, text } = await post(shop, '/chat/completions', { ...surfaces['/chat/completions'], stream: true })
  t.match({ status, text }, { status: 504, text: /sent no answer within 200 ms/ })
  t.equal(shop.calls(), 2)
})

const piece = `data: ${JSON.stringify({ ...chat, object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'x' } }] })}\n\n`
const ending = `data: ${JSON.stringify({ ...chat, object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\ndata: [DONE]\n\n`
/** A stream that goes on for a second, with an event every 50 ms. */
const steady: Respond = async response => {
  response.setHeader('content-type', 'text/event-stream')
  for (let at = 0; at < 20; at++) {
    response.write(piece)
    await sleep(50)
  }
  response.end(ending)
}
const streamed = { '/chat/completions': /\[DONE\]/, '/responses': /response\.completed/, '/messages': /message_stop/ }

t.test('a stream that goes on may take longer than a whole answer; only silence ends it', async t => {
  const timeouts = { ...generous, totalMs: 300, idleMs: 2_000 }
  const shop = await open(t, steady, { timeouts }, { requests: { deadlineMs: 500 } })
  for (const [path, end] of Object.entries(streamed)) {
    const body = surfaces[path as keyof typeof surfaces]
    const { status, text } = await post(shop, path, { ...body, stream: true })
    t.match({ status, text }, { status: 200, text: end }, path)
  }
  const stalled = await open(t, response => {
    response.setHeader('content-type', 'text/event-stream').write(piece)
  }, { timeouts: short })
  const { text } = await post(stalled, '/chat/completions', { ...surfaces['/chat/completions'], stream: true })
  t.match(text, /sent nothing for 200 ms/)
  t.notMatch(text, /DONE/)
})

t.test('a stream that is still running at its deadline ends with words of its own', async t => {
  const shop = await open(t, steady, {}, { requests: { streamMs: 400 } })
  for (const path of Object.keys(streamed)) {
    const body = { ...surfaces[path as keyof typeof surfaces], stream: true }
    const { text } = await post(shop, path, body)
    t.match(text, /still running at its deadline of 400 ms/, path)
    t.notMatch(text, /\[DONE\]|response\.completed|message_stop/, path)
    t.match((await post(shop, path, body, { 'x-tollgate-deadline-ms': '300' })).text, /its deadline of 300 ms/, path)
  }
})

t.test('the defaults let a whole answer take the 600 s that SDKs wait, and a stream more', async t => {
  const { deadlineMs, streamMs } = requestsDefaults
  t.ok(deadlineMs > 600_000)
  t.ok(streamMs >= 1_800_000)
})
