import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { startMetered } from '../hostile/metered-gateway.ts'

/**
 * The longest time for which the answer to one request may keep the event loop. A turn reads up to 2 MB of a
 * provider on the same machine.
 */
const limitMs = 200
/** Other work of the machine lengthens a turn now and then, the answer's own work does so each time. */
const tries = 3
const mb = 1_000_000

const fill = (bytes: number, unit: string): string => unit.repeat(Math.ceil(bytes / unit.length))
const chunk = (delta: object): string => `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta }] })}\n\n`
const events = (count: number, one: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => one(at)).join('')

interface Answer { type: 'application/json' | 'text/event-stream', body: string }

const json = (body: string): Answer => ({ type: 'application/json', body })
const stream = (body: string): Answer => ({ type: 'text/event-stream', body })

/** What a broken provider may send within the limits on bytes. */
const answers: Record<string, () => Answer> = {
  'millions of objects': () => json(`{"choices":[${fill(20 * mb, '{},')}{}]}`),
  'millions of numbers': () => json(`{"choices":[${fill(20 * mb, '1,')}1]}`),
  'brackets that never close': () => json(fill(20 * mb, '[')),
  'a text of 16 MB': () => json(`{"choices":[{"index":0,"message":{"role":"assistant","content":"${fill(16 * mb, 'word ')}"},"finish_reason":"stop"}]}`),
  'the probabilities of 4,000 tokens': () => json(JSON.stringify({
    choices: [{
      index: 0,
      message: { role: 'assistant', content: 'x' },
      finish_reason: 'stop',
      logprobs: {
        content: Array(4_000).fill({ token: 'a', logprob: -1, bytes: [97], top_logprobs: Array(20).fill({ token: 'a', logprob: -1, bytes: [97] }) })
      }
    }]
  })),
  'objects without lines between them': () => stream(fill(15 * mb, 'data: {"choices":[]}')),
  'empty objects in one event': () => stream(`data: ${fill(15 * mb, '{}')}\n\n`),
  'millions of values in one event': () => stream(`data: {"choices":[${fill(15 * mb, '{},')}{}]}\n\n`),
  'braces in one event': () => stream(`data: ${fill(15 * mb, '{')}\n\n`),
  'lines of one event': () => stream(`${fill(15 * mb, 'data: 1\n')}\n`),
  'a million small events': () => stream(fill(24 * mb, 'data: {"choices":[]}\n\n')),
  'a hundred thousand tool calls': () => stream(events(100_000, index =>
    chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] }))),
  'a hundred thousand pieces of text': () => stream(events(100_000, () => chunk({ content: 'word ' })) +
    'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'),
  'comments only': () => stream(fill(15 * mb, ': ping\n\n')),
  'line ends only': () => stream(fill(15 * mb, '\r\n'))
}

const message = { messages: [{ role: 'user', content: 'hi' }], max_tokens: 1_000 }
const surfaces = [
  { path: '/v1/chat/completions', model: 'odd-chat' },
  { path: '/v1/chat/completions', model: 'odd-claude' },
  { path: '/v1/chat/completions', model: 'odd-gemini' },
  { path: '/v1/messages', model: 'odd-claude' }
]

t.test('no answer of a provider keeps others waiting for long', { timeout: 600_000 }, async t => {
  let answer: Answer = json('{}')
  const provider = createServer((request, response) => {
    request.resume().once('end', () => { response.writeHead(200, { 'content-type': answer.type }).end(answer.body) })
  })
  await once(provider.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { provider.closeAllConnections(); provider.close() })
  const base = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
  const folder = t.testdir()
  const given = (id: string, protocol: string) =>
    `{ id: ${id}, protocol: ${protocol}, base_url: "${base}/v1", api_key: secret-of-the-provider }`
  const model = (id: string, provider: string) =>
    `{ id: ${id}, provider: ${provider}, model: up, price: { input: 1, output: 2 }, context_window: 2000000, max_output: 200000 }`
  const config = join(folder, 'gateway.yaml')
  await writeFile(config, `environment_providers: false
providers: [${given('odd', 'openai')}, ${given('claude', 'anthropic')}, ${given('google', 'gemini')}]
models: [${model('odd-chat', 'odd')}, ${model('odd-claude', 'claude')}, ${model('odd-gemini', 'google')}]
requests: { retries: 0 }
breaker: { failures: 1000, error_rate: 1, min_requests: 1000000 }
`)
  const gateway = await startMetered(t, { env: { TOLLGATE_CONFIG: config, TOLLGATE_DISCOVER: 'off' }, heapMb: 1024 })
  const ask = async (path: string, model: string, stream: boolean): Promise<number> => {
    const response = await gateway.send(path, JSON.stringify({ ...message, model, stream }))
    await response.text()
    return response.status
  }
  for (const { path, model } of surfaces) for (const stream of [false, true]) await ask(path, model, stream)

  for (const [name, make] of Object.entries(answers)) {
    answer = make()
    for (const { path, model } of surfaces) {
      for (const stream of [false, true]) {
        const pausesMs: number[] = []
        const what = `${name}, ${path}, ${model}${stream ? ', streamed' : ''}`
        while (pausesMs.length < tries && !pausesMs.some(pauseMs => pauseMs <= limitMs)) {
          await gateway.read(true)
          await gateway.read()
          const status = await ask(path, model, stream)
          pausesMs.push((await gateway.read()).longestMs)
          t.ok([200, 502].includes(status), `${what}: ${status}`)
        }
        t.ok(Math.min(...pausesMs) <= limitMs, `${what}: ${pausesMs.map(Math.round).join(', ')} ms`)
      }
    }
  }
  t.equal(gateway.process.child.exitCode, null, gateway.process.output().slice(-2000))
})
