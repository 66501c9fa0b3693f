import t from 'tap'
import { startGateway } from '../../helpers/gateway.ts'
import { document, refusal } from '../../servers/anthropic.ts'
import { rejection } from '../../helpers/thrown.ts'
import { anthropicAt, startClaudePair, startOpenAIPair } from './clients.ts'

const openai = await startOpenAIPair(t)
const claude = await startClaudePair(t)
const prompt = { model: 'chat', messages: [{ role: 'user' as const, content: 'How many tokens has this sentence?' }] }

t.test('the tokens of a prompt are estimated, free of charge', async t => {
  const { client, gateway, server } = openai
  const count = async (more: object = {}) => {
    return (await client.messages.countTokens({ ...prompt, ...more })).input_tokens
  }
  const few = await count()
  t.ok(few > 5 && few < 20, String(few))
  const tools = [{ name: 'look', input_schema: { type: 'object' as const, properties: { at: { type: 'string' } } } }]
  t.ok(await count({ tools }) > few + 5)
  t.ok(await count({ system: 'Be brief. '.repeat(100) }) > few + 150)
  t.equal(await count({ model: 'auto' }), few)
  t.same(server.requests, [])
  await gateway.line(() => gateway.lines.filter(({ path }) => path === '/v1/messages/count_tokens').length === 4)
  t.equal(gateway.lines.find(({ costUsd }) => costUsd !== undefined && costUsd !== null), undefined)
  t.match(await rejection(count({ model: 'nope' })), { status: 404, type: 'not_found_error' })
  t.match(await rejection(count({ thread: { type: 'create' } })), { status: 400, errorCode: 'thread_unsupported_request' })
})

t.test('Claude\'s provider counts itself', async t => {
  const { client, server } = claude
  server.script(document(JSON.stringify({ input_tokens: 4711 })))
  t.same(await client.messages.countTokens({ ...prompt, system: 'Be kind.' }), { input_tokens: 4711 })
  t.match(server.requests.at(-1), {
    path: '/v1/messages/count_tokens',
    headers: { 'x-api-key': 'sk-ant-secret', 'anthropic-version': /^\d{4}-/ },
    body: { model: 'claude-sonnet-4-5', system: 'Be kind.', messages: prompt.messages }
  })
  server.script(refusal(400))
  t.match(await rejection(client.messages.countTokens(prompt)), { status: 400, type: 'invalid_request_error' })
  // A server without the endpoint, or out of order.
  for (const status of [404, 500]) {
    server.script(refusal(status))
    t.ok((await client.messages.countTokens(prompt)).input_tokens > 5, String(status))
  }
})

t.test('models come in Anthropic\'s form to its clients, page by page', async t => {
  const gateway = await startGateway(t, { env: { OPENAI_API_KEY: 'sk-test', ANTHROPIC_API_KEY: 'sk-test' } })
  const client = anthropicAt(gateway)
  const ids: string[] = []
  for await (const model of client.models.list({ limit: 7 })) ids.push(model.id)
  const all = await (await fetch(`${gateway.url}/models`, { headers: gateway.headers })).json() as { data: { id: string, kind: string }[] }
  const chat = all.data.filter(({ kind }) => kind === 'chat').map(({ id }) => id)
  t.ok(chat.includes('openai/gpt-5-pro'))
  const onlyResponses = /openai\/(.*deep-research|computer-use)/
  t.same(ids, chat.filter(id => !onlyResponses.test(id)))
  const page = await client.models.list({ limit: 3 })
  t.match(page, { first_id: ids[0], last_id: ids[2], has_more: true })
  t.match(page.data[0], { type: 'model', id: ids[0], display_name: ids[0], created_at: /^\d{4}-\d\d-\d\dT/, lifecycle: 'active' })
  const before = await client.models.list({ limit: 2, before_id: ids[4] })
  t.same([before.data.map(({ id }) => id), before.has_more], [ids.slice(2, 4), true])
  t.equal((await client.models.list()).data.length, Math.min(20, ids.length))
  t.match(await client.models.retrieve('sandbox-chat'), { type: 'model', id: 'sandbox-chat' })
  t.match(await rejection(client.models.retrieve('nope')), { status: 404, type: 'not_found_error' })
  t.match(await rejection(client.models.list({ limit: 0 })), { status: 400, type: 'invalid_request_error' })
})

t.test('batches and files are refused in Anthropic\'s form', async t => {
  const { client } = openai
  const requests = [{ custom_id: '1', params: { ...prompt, max_tokens: 5 } }]
  const refused = { status: 404, type: 'not_found_error', message: /does not serve \/v1\/(messages\/batches|files)/ }
  t.match(await rejection(client.messages.batches.create({ requests })), refused)
  t.match(await rejection(client.messages.batches.retrieve('batch_1')), refused)
  t.match(await rejection(Promise.resolve(client.files.list())), refused)
})
