import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import OpenAI from 'openai'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { createStoredResponses } from '../../../services/apis/responses/stored-responses.ts'
import { rejection } from '../../helpers/thrown.ts'
import { startUpstream } from '../../servers/upstream.ts'
import { statusOf } from '../round-trips.ts'
import { gatherResponse } from './responses-client.ts'

const model = 'chat'

async function started (t: Test, env: NodeJS.ProcessEnv = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const gateway = await startGateway(t, { config: configFor(providerAt(upstream.url)), env })
  const connect = (key: string) => new OpenAI({ baseURL: gateway.url, apiKey: key, maxRetries: 0 })
  return { gateway, connect, client: connect(gateway.key), upstream }
}

forEachEngine(t, 'a conversation goes on from a stored response', async (t, { url }) => {
  const { client, upstream, gateway, connect } = await started(t, { DATABASE_URL: url })
  const first = await client.responses.create({ model, instructions: 'Be brief.', input: 'One' })
  t.equal(Reflect.get(first, 'store'), true)
  const second = await gatherResponse(client, { model, input: [{ role: 'user', content: 'Two' }], previous_response_id: first.id })
  t.equal(second.previous_response_id, first.id)
  await client.responses.create({ model, input: 'Three', previous_response_id: second.id, store: false })
  t.same(Object(upstream.requests.at(-1)?.body).messages, [
    { role: 'user', content: 'One' }, { role: 'assistant', content: first.output_text },
    { role: 'user', content: 'Two' }, { role: 'assistant', content: second.output_text },
    { role: 'user', content: 'Three' }
  ], 'all turns are sent, instructions only where they were given')

  const item = first.output[0]
  await client.responses.create({ model, input: [{ role: 'user', content: 'A' }, { type: 'item_reference', id: item?.id ?? '' }, { role: 'user', content: 'B' }] })
  t.match(Object(upstream.requests.at(-1)?.body).messages, [{}, { role: 'assistant', content: first.output_text }, {}], 'an item by its id')

  const { output_text: _text, ...body } = second
  const { output_text: _, ...kept } = await client.responses.retrieve(second.id)
  const output = second.output.map(({ id, type }) => ({ id, type }))
  t.match(kept, JSON.parse(JSON.stringify({ ...body, output })))
  const items = await client.responses.inputItems.list(second.id)
  t.match(items.data, [{ type: 'message', id: /^msg_/, role: 'user', content: [{ type: 'input_text', text: 'Two' }] }])

  await gateway.app.accounts.create({ id: 'other' })
  const stranger = connect((await gateway.app.keys.create({ account: 'other', label: '' })).key)
  const colleague = connect((await gateway.app.keys.create({ account: 'default', label: '' })).key)
  t.equal((await colleague.responses.retrieve(first.id)).id, first.id, 'another key of the account')
  t.equal(await statusOf(stranger.responses.retrieve(first.id)), 404)
  t.equal(await statusOf(stranger.responses.inputItems.list(first.id)), 404)
  t.equal(await statusOf(stranger.responses.delete(first.id)), 404)
  await t.rejects(stranger.responses.create({ model, input: 'x', previous_response_id: first.id }),
    { status: 400, code: 'previous_response_not_found', param: 'previous_response_id' })
  t.equal(await statusOf(stranger.responses.create({ model, input: [{ type: 'item_reference', id: item?.id ?? '' }] })), 404)

  await client.responses.delete(first.id)
  t.equal(await statusOf(client.responses.retrieve(first.id)), 404)
  t.equal(await statusOf(client.responses.create({ model, input: 'x', previous_response_id: second.id })), 400, 'a turn is missing')
  const unstored = await client.responses.create({ model, input: 'x', store: false })
  t.equal(await statusOf(client.responses.retrieve(unstored.id)), 404)
})

forEachEngine(t, 'what has expired is not read, and deleted', async (t, { open }) => {
  let nowMs = 1_000_000
  const stored = createStoredResponses(await open(() => nowMs), { keepMs: 1000, accountBytes: 2 ** 30 })
  const response = {
    id: 'resp_1', object: 'response' as const, created_at: 1, status: 'completed' as const, model: 'm', output: [{ type: 'message', id: 'msg_1' }]
  }
  const kept = { account: 'a', response, input: [], previous: null, historyBytes: 0 }
  t.equal(await stored.keep(kept), true)
  t.equal(await stored.keep({ ...kept, response: { ...response, id: 'resp_2' }, historyBytes: 17 * 2 ** 20 }), false, 'a conversation that is too long')
  t.equal((await stored.get('a', 'resp_1')).id, 'resp_1')
  t.equal(await stored.prune(), 0)
  nowMs += 1000
  await t.rejects(stored.get('a', 'resp_1'), { message: /not found/ })
  t.equal((await stored.items('a', new Set(['msg_1']), 0)).size, 0)
  t.equal(await stored.prune(), 1)
  nowMs -= 1000
  await t.rejects(stored.get('a', 'resp_1'), { message: /not found/ })
})

forEachEngine(t, 'the responses whose items a request names are read up to a length', async (t, { open }) => {
  const stored = createStoredResponses(await open(), { keepMs: 600_000, accountBytes: 2 ** 30 })
  const text = 'é'.repeat(3 * 2 ** 20)
  const keep = async (at: number): Promise<boolean> => await stored.keep({
    account: 'a',
    input: [],
    previous: null,
    historyBytes: 0,
    response: {
      id: `resp_${at}`,
      object: 'response',
      created_at: 1,
      status: 'completed',
      model: 'm',
      output: [{ type: 'message', id: `msg_${at}`, ...{ content: [{ type: 'output_text', text }] } }]
    }
  })
  for (const at of [0, 1, 2, 3, 4, 5]) t.equal(await keep(at), true)
  const named = (count: number) => new Set(Array.from({ length: count }, (_, at) => `msg_${at}`))
  t.equal((await stored.items('a', named(5), 0)).size, 5)
  await t.rejects(stored.items('a', named(6), 0), { status: 413, param: 'input', code: 'request_too_large' })
  t.match(await rejection(stored.items('a', named(5), 2 * 2 ** 20)), { status: 413 })
})

forEachEngine(t, 'an account has room for some bytes of responses, of which the newest stay', async (t, { open }) => {
  let nowMs = 1_000_000
  const store = await open(() => nowMs++)
  const stored = createStoredResponses(store, { keepMs: 600_000, accountBytes: 100_000 })
  const keep = async (id: string, { account = 'a', bytes = 10_000, previous = null as string | null } = {}) => await stored.keep({
    account,
    input: [{ role: 'user', content: 'é'.repeat(bytes / 2) }],
    previous,
    historyBytes: 0,
    response: { id, object: 'response', created_at: 1, status: 'completed', model: 'm', output: [{ type: 'message', id: `msg_${id}` }] }
  })
  const bytesOf = async (account: string) =>
    Number((await store.get<{ bytes: number }>('select bytes from response_bytes where account = $1', [account]))?.bytes)
  const idsOf = async (account: string) =>
    (await store.all<{ id: string }>('select id from response where account = $1 order by created_at', [account])).map(({ id }) => id)
  t.equal(await keep('other', { account: 'b' }), true)
  for (let at = 0; at < 40; at++) {
    t.equal(await keep(`resp_${at}`), true)
    const bytes = await bytesOf('a')
    t.ok(bytes <= 100_000, `${bytes} bytes`)
  }
  const ids = await idsOf('a')
  t.equal(ids.at(-1), 'resp_39')
  t.ok(ids.length >= 8, `${ids.length} stay`)
  t.equal((await stored.items('a', new Set(['msg_resp_0']), 0)).size, 0, 'an item goes with its response')
  await t.rejects(stored.history('a', 'resp_0'), { status: 400, code: 'previous_response_not_found' })
  t.same(await idsOf('b'), ['other'], 'other accounts keep theirs')
  t.equal(await keep('huge', { bytes: 200_000 }), false)
  t.same(await idsOf('a'), ids, 'what has no room at all moves nothing')
  for (const id of ids.slice(1)) await stored.delete('a', id)
  const one = await bytesOf('a')
  t.ok(one > 10_000 && one < 11_000, `${one} bytes of one`)
  nowMs += 600_000
  await stored.prune()
  t.same([await bytesOf('a'), await bytesOf('b')], [0, 0], 'what has expired is not counted')
})

t.test('a full account stores on, and says so', async t => {
  const { client } = await started(t, { TOLLGATE_RESPONSES_SIZE: '20KiB' })
  const input = 'word '.repeat(1000)
  const answers = []
  for (let at = 0; at < 5; at++) answers.push(await client.responses.create({ model, input }))
  t.ok(answers.every(answer => Reflect.get(answer, 'store') === true))
  const [first, last] = [answers[0]?.id ?? '', answers.at(-1)?.id ?? '']
  t.equal((await client.responses.retrieve(last)).id, last)
  t.equal(await statusOf(client.responses.retrieve(first)), 404)
  const tooLong = await client.responses.create({ model, input: 'word '.repeat(5000) })
  t.equal(Reflect.get(tooLong, 'store'), false)
})

t.test('an operator may have nothing stored', async t => {
  const { client } = await started(t, { TOLLGATE_RESPONSES_DAYS: 'off' })
  const response = await client.responses.create({ model, input: 'x' })
  t.equal(Reflect.get(response, 'store'), false)
  t.equal(await statusOf(client.responses.retrieve(response.id)), 404)
  await t.rejects(client.responses.create({ model, input: 'x', store: true }), { status: 400, code: 'unsupported_parameter', param: 'store' })
  await t.rejects(client.responses.create({ model, input: 'x', previous_response_id: response.id }), { status: 400, code: 'previous_response_not_found' })
})

t.test('a WebSocket is refused at once, so that its client uses HTTP', async t => {
  const { gateway } = await started(t)
  const headers = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==' }
  const upgrade = async (key: string): Promise<number | undefined> => {
    const request = httpRequest(`${gateway.url}/responses`, { headers: { ...headers, authorization: `Bearer ${key}` } })
    request.end()
    const [response]: IncomingMessage[] = await once(request, 'response')
    response?.resume()
    return response?.statusCode
  }
  t.equal(await upgrade(gateway.key), 426)
  t.equal(await upgrade('sk-wrong'), 401)
  t.equal((await fetch(`${gateway.url}/responses`, { headers: { authorization: `Bearer ${gateway.key}` } })).status, 405)
})

t.test('a page of input items has the asked length, and a whole response can be asked for by name', async t => {
  const { client } = await started(t)
  const input = ['One', 'Two', 'Three'].map(content => ({ role: 'user' as const, content }))
  const { id } = await client.responses.create({ model, input })
  const page = await client.responses.inputItems.list(id, { limit: 2, order: 'asc' })
  t.match(page.data, [{ content: [{ text: 'One' }] }, { content: [{ text: 'Two' }] }])
  t.equal(page.data.length, 2)
  const all = await Array.fromAsync(page)
  t.match(all.at(-1), { content: [{ text: 'Three' }] }, 'the next page is found')
  for (const limit of [0, 101, 1.5]) {
    t.match(await rejection(client.responses.inputItems.list(id, { limit })), { status: 400, param: 'limit' }, String(limit))
  }
  t.equal((await client.responses.retrieve(id, { stream: false })).id, id)
  const refused = await rejection(client.responses.retrieve(id, { stream: true }))
  t.match(refused, { status: 400, param: 'stream', code: 'invalid_value', message: /Supported values are: 'false'/ })
})

t.test('the tokens of an input are estimated, with earlier turns', async t => {
  const { client, gateway, upstream } = await started(t)
  const short = await client.responses.inputTokens.count({ model, input: 'What is a gateway good for?' })
  t.equal(short.object, 'response.input_tokens')
  t.ok(short.input_tokens >= 5 && short.input_tokens < 30)
  const first = await client.responses.create({ model, input: 'word '.repeat(1000) })
  const calls = upstream.requests.length
  const { input_tokens: all } = await client.responses.inputTokens.count({
    model, input: 'Go on.', previous_response_id: first.id, tools: [{ type: 'function', name: 'look', parameters: {}, strict: null }]
  })
  t.ok(all > 1000 && all < 1200, String(all))
  t.equal((await client.responses.inputTokens.count({})).input_tokens, 0)
  t.match(await rejection(client.responses.inputTokens.count({ model: 'no-such', input: 'x' })), { status: 404, code: 'model_not_found' })
  t.match(await rejection(client.responses.inputTokens.count({ model, input: 'x', conversation: 'conv_1' })), { status: 400, param: 'conversation' })
  t.equal(upstream.requests.length, calls, 'no provider is asked')
  await gateway.app.ledger.flush()
  t.match(await gateway.app.store.get("select count(*) as count from entry where kind = 'usage'", []), { count: 1 }, 'it is free')
})

t.test('what is not built of the API is refused in its shape', async t => {
  const { client } = await started(t)
  const unsupported = { status: 404, code: 'unsupported_endpoint', type: 'invalid_request_error' }
  t.match(await rejection(client.responses.compact({ model: 'gpt-5.1-codex', input: 'x' })), unsupported)
  t.match(await rejection(client.responses.cancel('resp_1')), unsupported)
})
