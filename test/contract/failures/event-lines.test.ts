import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { requestsDefaults } from '../../../services/config/defaults.ts'
import type { ProviderConfig } from '../../../services/config/catalogue/types.ts'
import { price } from '../../helpers/faults.ts'
import { configFor, providerAt, startGateway, type Gateway } from '../../helpers/gateway.ts'
import { keepOpen } from '../../helpers/keep-open.ts'

const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
const usage = { prompt_tokens: 8, completion_tokens: 2, total_tokens: 10 }
const event = (data: object, name = ''): string => `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`
const chunk = (delta: object, finish: string | null = null): string =>
  event({ ...head, choices: [{ index: 0, delta, finish_reason: finish }] })
const failed = { code: 500, message: 'Context size has been exceeded.', type: 'server_error' }

/** A stream of each protocol, in its parts: the first two have text. */
const streams: Record<string, string[]> = {
  openai: [
    chunk({ role: 'assistant', content: 'Hi' }), chunk({ content: ' there' }), chunk({}, 'stop'),
    event({ ...head, choices: [], usage }), 'data: [DONE]\n\n'
  ],
  anthropic: [
    event({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage: { input_tokens: 8, output_tokens: 0 } } }, 'message_start') +
      event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }, 'content_block_start') +
      event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } }, 'content_block_delta'),
    event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: ' there' } }, 'content_block_delta'),
    event({ type: 'content_block_stop', index: 0 }, 'content_block_stop'),
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 2 } }, 'message_delta'),
    event({ type: 'message_stop' }, 'message_stop')
  ],
  gemini: [
    event({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'Hi' }] } }] }),
    event({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: ' there' }] } }] }),
    event({ candidates: [{ index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }], usageMetadata: { promptTokenCount: 8, candidatesTokenCount: 2, totalTokenCount: 10 } })
  ],
  responses: [
    event({ type: 'response.created', sequence_number: 0, response: { id: 'resp_1', object: 'response', status: 'in_progress', model: 'm', output: [] } }, 'response.created') +
      event({ type: 'response.output_text.delta', sequence_number: 1, item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hi' }, 'response.output_text.delta'),
    event({ type: 'response.output_text.delta', sequence_number: 2, item_id: 'msg_1', output_index: 0, content_index: 0, delta: ' there' }, 'response.output_text.delta'),
    event({
      type: 'response.completed',
      sequence_number: 3,
      response: { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [], usage: { input_tokens: 8, output_tokens: 2, total_tokens: 10 } }
    }, 'response.completed')
  ]
}
const kinds: Record<string, Partial<ProviderConfig>> = {
  openai: { dialect: 'llamacpp' }, anthropic: { protocol: 'anthropic' }, gemini: { protocol: 'gemini' }, responses: { dialect: 'openai' }
}
const surfaces: Record<string, { body: object, end: RegExp, error: RegExp }> = {
  '/chat/completions': { body: { messages: [{ role: 'user', content: 'Hi' }] }, end: /data: \[DONE\]/, error: /"error":\{/ },
  '/responses': { body: { input: 'Hi' }, end: /event: response\.completed/, error: /event: response\.failed/ },
  '/messages': { body: { max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] }, end: /event: message_stop/, error: /event: error/ }
}
/** The surfaces that a kind of provider answers in this test. */
const served = (kind: string): string[] => kind === 'responses' ? ['/responses'] : Object.keys(surfaces)

interface Shop extends Gateway { calls: number, parts: readonly string[] }

/** A gateway in front of a provider that streams `parts`, each in a packet of its own. */
async function open (t: Test, kind: string): Promise<Shop> {
  const server = createServer(keepOpen, async (exchange, response) => {
    await exchange.resume().toArray()
    shop.calls++
    response.setHeader('content-type', 'text/event-stream')
    for (const part of shop.parts) {
      await new Promise<void>(resolve => response.write(part, () => resolve()))
      await nextTurn()
    }
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const provider = providerAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, kinds[kind])
  const config = configFor(provider, { price })
  const requests = { ...requestsDefaults, backoffMs: 1 }
  const gateway = await startGateway(t, { config: { ...config, requests } })
  const shop: Shop = Object.assign(gateway, { calls: 0, parts: [] })
  return shop
}

async function post (shop: Shop, path: string, parts: readonly string[], stream = true) {
  shop.parts = parts
  shop.calls = 0
  const answer = await request(shop.url + path, {
    method: 'POST', headers: shop.headers, body: JSON.stringify({ model: 'chat', stream, ...surfaces[path]?.body })
  })
  return { status: answer.statusCode, text: await answer.body.text() }
}

const quiet = ['data:\n\n', 'data: \n\n', 'event: ping\ndata:\n\n', ': comment\n\n', 'data\n\n']

for (const [kind, [first = '', second = '', ...rest]] of Object.entries(streams)) {
  t.test(`${kind}: an event without data is nothing, wherever it stands`, async t => {
    const shop = await open(t, kind)
    for (const path of served(kind)) {
      const plain = await post(shop, path, [first, second, ...rest])
      t.match(plain.text, surfaces[path]?.end, path)
      for (const nothing of quiet) {
        const parts = [nothing, first, nothing + nothing, second, ...rest.flatMap(one => [nothing, one])]
        const { status, text } = await post(shop, path, parts)
        t.match({ status, text }, { status: 200, text: surfaces[path]?.end }, `${path} ${JSON.stringify(nothing)}`)
        t.match(text, / there/)
        t.notMatch(text, /^data: ?$/m, 'the client does not get it')
        t.equal(shop.calls, 1)
      }
    }
  })

  t.test(`${kind}: a line for an error is an error, after text`, async t => {
    const shop = await open(t, kind)
    for (const path of served(kind)) {
      const parts = [first, second, `error: ${JSON.stringify(failed)}\n\n`, 'data: [DONE]\n\n']
      const { status, text } = await post(shop, path, parts)
      t.equal(status, 200)
      t.match(text, / there/, `${path}: what came before arrives`)
      t.match(text, surfaces[path]?.error, path)
      t.notMatch(text, surfaces[path]?.end, path)
      t.notMatch(text, /"finish_reason":"stop"|"end_turn"/, path)
    }
  })
}

t.test('a line for an error that comes first has the provider\'s status and words, after one call', async t => {
  const shop = await open(t, 'openai')
  const line = `error: ${JSON.stringify({ ...failed, code: 400, type: 'invalid_request_error' })}\n\n`
  for (const path of Object.keys(surfaces)) {
    for (const stream of [true, false]) {
      const { status, text } = await post(shop, path, [line, 'data: [DONE]\n\n'], stream)
      t.match({ status, text }, { status: 400, text: /Context size has been exceeded/ }, `${path} ${stream}`)
      t.equal(shop.calls, 1)
    }
  }
})

t.test('a stream without a finish reason is filled only if every line was understood', async t => {
  const shop = await open(t, 'openai')
  const [first = '', second = ''] = streams.openai ?? []
  const done = 'data: [DONE]\n\n'
  for (const [path, { end, error }] of Object.entries(surfaces)) {
    const known = await post(shop, path, [first, 'id: 1\nretry: 5\n\n', second, done])
    t.match(known.text, end, path)
    for (const odd of ['warning: context shift\n\n', 'slot unavailable\n\n', `x-info: 1\n${chunk({ content: '!' })}`]) {
      const lost = await post(shop, path, [first, odd, second, done])
      t.match(lost.text, error, `${path} ${odd}`)
      t.notMatch(lost.text, end, `${path} ${odd}`)
      const whole = await post(shop, path, [first, odd, second, ...(streams.openai ?? []).slice(2)])
      t.match(whole.text, end, `${path}: with a finish reason it is complete`)
    }
  }
  shop.app.ledger.flush()
})

t.test('an answer that an error line cut is not charged as a whole one', async t => {
  const shop = await open(t, 'openai')
  const [first = '', second = ''] = streams.openai ?? []
  await post(shop, '/chat/completions', [first, second, `error: ${JSON.stringify(failed)}\n\n`, 'data: [DONE]\n\n'], false)
  await shop.app.ledger.flush()
  t.same(await shop.app.store.all("select amount from entry where kind = 'usage'"), [], 'a whole answer that failed is free')
})
