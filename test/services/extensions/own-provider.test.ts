import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { defineProvider, ProviderError, type OwnProviderCall, type ProviderDefinition, type ProviderPiece } from '../../../services/extensions/types.ts'
import { emptyPrice } from '../../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { apis, streamedText } from './plugin-shop.ts'

/** 1000 nano-USD per token of the prompt, 10,000 per token of the response. */
const price = { ...emptyPrice, inputPico: 1_000_000, outputPico: 10_000_000 }

async function openShop (t: Test, provider: ProviderDefinition, timeouts: object = {}) {
  const own = providerAt('http://127.0.0.1:9', { protocol: 'echo', apiKey: null })
  const base = configFor({ ...own, timeouts: { ...own.timeouts, ...timeouts } }, { price, maxOutput: 1000 })
  const gateway = await startGateway(t, {
    config: { ...base, requests: { ...base.requests, retries: 1, backoffMs: 1 } },
    plugins: [{ name: 'own', providers: { echo: provider } }],
    env: { TOLLGATE_STARTING_CREDIT: '10' }
  })
  return {
    gateway,
    async post (path: string, body: object, signal?: AbortSignal) {
      const response = await request(`${gateway.url}${path}`, {
        method: 'POST', headers: gateway.headers, body: JSON.stringify(body), ...signal !== undefined && { signal }
      })
      const text = await response.body.text()
      return { status: response.statusCode, headers: response.headers, text, json: () => JSON.parse(text) }
    },
    async books () {
      await gateway.app.ledger.flush()
      const { spentNano, heldNano } = await gateway.app.ledger.balance('default')
      return { spentNano, heldNano }
    }
  }
}

const usage = { type: 'usage', prompt: 300, completion: 50 } as const

for (const [api, { path, body, textOf }] of Object.entries(apis)) {
  for (const stream of [false, true]) {
    t.test(`a protocol of a plugin serves ${api}, ${stream ? 'streamed' : 'whole'}, and its usage is charged`, async t => {
      const calls: OwnProviderCall[] = []
      const shop = await openShop(t, defineProvider({
        async * chat (call) {
          calls.push(call)
          yield { type: 'text', text: 'Hello, ' }
          yield { type: 'text', text: 'world.' }
          yield usage
        }
      }))
      const response = await shop.post(path, { ...body, ...stream && { stream } })
      t.equal(response.status, 200, response.text)
      t.equal(stream ? streamedText(response.text) : textOf(response.json()), 'Hello, world.')
      t.match(calls, [{ model: 'gpt-5-nano', baseUrl: 'http://127.0.0.1:9' }])
      t.notMatch(JSON.stringify(calls), 'sk-')
      t.same(await shop.books(), { spentNano: 800_000, heldNano: 0 })
    })
  }
}

t.test('tool calls, reasoning and the reason of the end are passed on', async t => {
  const shop = await openShop(t, {
    async * chat () {
      yield { type: 'reasoning', text: 'Where?' }
      yield { type: 'tool_call', id: 'call_1', name: 'weather', arguments: '{"city":' }
      yield { type: 'tool_call', index: 0, arguments: '"Oslo"}' }
      yield { type: 'tool_call', name: 'time', arguments: '{}' }
      yield { ...usage, reasoning: 20, cachedRead: 100 }
    }
  })
  const { body } = apis.chat
  const { choices, usage: counted } = (await shop.post('/chat/completions', body)).json()
  t.match(choices, [{
    finish_reason: 'tool_calls',
    message: {
      reasoning_content: 'Where?',
      tool_calls: [
        { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        { function: { name: 'time', arguments: '{}' } }
      ]
    }
  }])
  t.match(counted, {
    prompt_tokens: 300,
    prompt_tokens_details: { cached_tokens: 100 },
    completion_tokens_details: { reasoning_tokens: 20 }
  })
  const streamed = await shop.post('/chat/completions', { ...body, stream: true, stream_options: { include_usage: true } })
  t.match(streamed.text, '"finish_reason":"tool_calls"')
  t.match(streamed.text, '"prompt_tokens":300')
})

t.test('without a usage the text is charged by an estimate', async t => {
  const shop = await openShop(t, { async * chat () { yield { type: 'text', text: 'Hello, world.' } } })
  t.equal((await shop.post('/chat/completions', apis.chat.body)).status, 200)
  const { spentNano, heldNano } = await shop.books()
  t.ok(spentNano > 0)
  t.equal(heldNano, 0)
})

t.test('an error with a status is that of any provider: it is retried, or sent to the client', async t => {
  const errors = [
    [new ProviderError(503, 'Busy.'), 200], [new ProviderError(429, 'Slow down.', { retryAfterMs: 1 }), 200],
    [new ProviderError(400, 'Bad temperature.', { code: 'bad' }), 400], [new Error('a secret'), 200]
  ] as const
  for (const [error, status] of errors) {
    let calls = 0
    const shop = await openShop(t, {
      async * chat () {
        if (calls++ === 0) throw error
        yield { type: 'text', text: 'At last.' }
        yield usage
      }
    })
    const response = await shop.post('/chat/completions', apis.chat.body)
    t.equal(response.status, status, error.message)
    t.equal(calls, status === 200 ? 2 : 1)
    t.notMatch(response.text, 'a secret')
    t.same(await shop.books(), { spentNano: status === 200 ? 800_000 : 0, heldNano: 0 })
  }
})

t.test('the call aborts when the client of a stream leaves', async t => {
  const aborted = Promise.withResolvers<void>()
  const shop = await openShop(t, {
    async * chat ({ signal }) {
      signal.addEventListener('abort', () => aborted.resolve())
      yield { type: 'text', text: 'Hello' }
      await new Promise(() => {})
    }
  })
  const leaving = new AbortController()
  const { url, headers } = shop.gateway
  const response = await request(`${url}/chat/completions`, {
    method: 'POST', headers, body: JSON.stringify({ ...apis.chat.body, stream: true }), signal: leaving.signal
  })
  response.body.on('error', () => {})
  response.body.once('data', () => leaving.abort())
  await aborted.promise
  await shop.gateway.line(({ msg }) => msg === 'request')
  t.equal((await shop.books()).heldNano, 0)
})

const hostile: Record<string, ProviderDefinition['chat']> = {
  hangs: async function * () { await new Promise(() => {}); yield usage },
  'hangs after a piece': async function * () { yield { type: 'text', text: 'x' }; await new Promise(() => {}) },
  'yields nonsense': async function * () { yield 5 as unknown as ProviderPiece },
  'yields an unknown piece': async function * () { yield { type: 'picture' } as unknown as ProviderPiece },
  'counts half tokens': async function * () { yield { type: 'usage', prompt: 0.5, completion: -1 } },
  'calls a tool without a name': async function * () { yield { type: 'tool_call', arguments: '{}' } },
  'is no iterator': () => 5 as unknown as AsyncIterable<ProviderPiece>,
  'hangs at its end': async function * () { try { yield { type: 'bad' } as unknown as ProviderPiece } finally { await sleep(1e6, null, { ref: false }) } }
}
for (const [what, chat] of Object.entries(hostile)) {
  t.test(`a provider that ${what} is a failed provider`, async t => {
    const shop = await openShop(t, { chat }, { firstByteMs: 50, totalMs: 50, idleMs: 50 })
    for (const stream of [false, true]) {
      const response = await shop.post('/chat/completions', { ...apis.chat.body, stream })
      const hasBegun = stream && what === 'hangs after a piece'
      if (hasBegun) t.match(response.text, '"error"')
      else t.ok([502, 504].includes(response.status), `${response.status} ${response.text}`)
    }
    t.equal((await shop.books()).heldNano, 0)
  })
}

t.test('a count beyond what is held is charged up to it', async t => {
  const shop = await openShop(t, { async * chat () { yield { type: 'text', text: 'x' }; yield { type: 'usage', prompt: 1e9, completion: 1e9 } } })
  t.equal((await shop.post('/chat/completions', apis.chat.body)).status, 200)
  const { spentNano, heldNano } = await shop.books()
  t.ok(spentNano < 20_000_000, String(spentNano))
  t.equal(heldNano, 0)
})
