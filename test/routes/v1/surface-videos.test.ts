import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import type { VideoSettings } from '../../../services/config/catalogue/types.ts'
import type { Gateway } from '../../helpers/gateway.ts'
import { create, json, send, startVideoGateway } from './video-client.ts'
import { until } from '../../helpers/until.ts'

const soon = 'a ball\nsandbox:delay 0'
const model = 'sandbox-video'

async function start (t: Test, settings: Partial<VideoSettings> = {}) {
  const gateway = await startVideoGateway(t, {}, settings)
  const { url, key } = gateway
  return {
    gateway,
    openai: new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 }),
    anthropic: new Anthropic({ baseURL: new URL(url).origin, apiKey: key, maxRetries: 0 })
  }
}

async function checkBooks (t: Test, { app }: Gateway, jobs: number): Promise<void> {
  await app.ledger.flush()
  t.match(await app.store.all('select count(*) as n from job'), [{ n: jobs }])
  t.match(await app.store.all("select count(*) as n from entry where kind = 'usage'"), [{ n: jobs }])
  t.strictSame(await checkLedger(app.store), [])
}

t.test('a video is one answer of each surface, for its SDK', async t => {
  const { gateway, openai, anthropic } = await start(t)
  const response = await openai.responses.create({ model, input: soon })
  t.match(response, { object: 'response', status: 'completed', model, usage: { input_tokens: 0, output_tokens: 0 } })
  t.equal((await fetch(response.output_text)).headers.get('content-type'), 'video/mp4')
  t.match(await openai.responses.retrieve(response.id), { output: response.output }, 'it is stored like others')

  const message = await anthropic.messages.create({ model, max_tokens: 100, messages: [{ role: 'user', content: soon }] })
  t.match(message, { type: 'message', role: 'assistant', stop_reason: 'end_turn', model })
  const [block] = message.content
  t.equal((await fetch(block?.type === 'text' ? block.text : '')).headers.get('content-type'), 'video/mp4')
  await checkBooks(t, gateway, 2)
})

t.test('both are held open by spaces before the JSON, also for a failure', async t => {
  const { gateway, openai, anthropic } = await start(t, { heartbeatAfterMs: 30, heartbeatEveryMs: 30 })
  const bodies: [string, object][] = [
    ['/responses', { model, input: 'a\nsandbox:delay 400' }],
    ['/messages', { model, max_tokens: 9, messages: [{ role: 'user', content: 'a\nsandbox:delay 400' }] }]
  ]
  for (const [path, body] of bodies) {
    // One after the other: the same body would join the first one's job.
    const text = await rawAnswer(gateway, path, body)
    t.match(text, /^ {3,}\{/, path)
    t.match(JSON.parse(text), path === '/responses' ? { object: 'response', status: 'completed' } : { type: 'message', stop_reason: 'end_turn' })
  }
  const failing = 'b\nsandbox:delay 300\nsandbox:fail moderated'
  const response = await openai.responses.create({ model, input: failing })
  t.match(response, { status: 'failed', output: [], error: { code: 'invalid_prompt', message: /moderated/ } })
  const message = await anthropic.messages.create({ model, max_tokens: 9, messages: [{ role: 'user', content: `c ${failing}` }] })
  t.match(message, { stop_reason: 'refusal', stop_details: { type: 'refusal', explanation: /moderated/ } })
})

async function rawAnswer ({ url, headers }: Gateway, path: string, body: object): Promise<string> {
  const asked = httpRequest(`${url}${path}`, { method: 'POST', headers })
  asked.end(JSON.stringify(body))
  const [answer] = await once(asked, 'response') as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return text
}

async function errorOf (answer: PromiseLike<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    return error
  }
}

t.test('what is wrong is said in the shape of the surface', async t => {
  const { gateway, openai, anthropic } = await start(t)
  t.match(await errorOf(openai.responses.create({ model, input: soon, stream: true })), { status: 400, param: 'stream' })
  t.match(await errorOf(openai.responses.create({ model, input: ' ' })), { status: 400, param: 'input' })
  const messages = [{ role: 'user' as const, content: soon }]
  t.match(await errorOf(anthropic.messages.create({ model, max_tokens: 9, messages, stream: true })),
    { status: 400, error: { type: 'error', error: { type: 'invalid_request_error', message: /cannot be streamed/ } } })
  const searching = { model, input: soon, tools: [{ type: 'web_search' as const }], tool_choice: { type: 'web_search_preview' as const } }
  t.match(await errorOf(openai.responses.create(searching)), { status: 400, param: 'tools[0].type' })
  const search = [{ type: 'web_search_20250305' as const, name: 'web_search' as const }]
  t.match(await errorOf(anthropic.messages.create({ model, max_tokens: 9, messages, tools: search, tool_choice: { type: 'any' } })),
    { status: 400, error: { error: { message: /'tools\[0\]' asks for `web_search_20250305`/ } } })
  const failed = 'a\nsandbox:delay 0\nsandbox:fail moderated'
  t.match(await errorOf(openai.responses.create({ model, input: failed })), { status: 400, code: 'content_policy_violation' })
  const refused = [{ role: 'user' as const, content: `b ${failed}` }]
  t.match(await errorOf(anthropic.messages.create({ model, max_tokens: 9, messages: refused })),
    { status: 400, error: { error: { message: /moderated/, details: { error_code: 'content_policy_violation' } } } })
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0, spentNano: 0 })
})

t.test('a video asked for through every surface by one name is one job', async t => {
  const { gateway, openai, anthropic } = await start(t)
  const prompt = 'a ball\nsandbox:delay 500'
  const messages = [{ role: 'user' as const, content: prompt }]
  const options = { headers: { 'idempotency-key': 'order 1' } }
  const [chat, response, message, video] = await Promise.all([
    openai.chat.completions.create({ model, messages }, options),
    openai.responses.create({ model, input: prompt }, options),
    anthropic.messages.create({ model, max_tokens: 9, messages }, options),
    send(gateway, '/videos', { headers: { ...json, ...options.headers }, body: JSON.stringify({ model, prompt }) })
  ])
  const url = chat.choices[0]?.message.content ?? ''
  t.equal(video.status, 200)
  const pathOf = (text: string) => new URL(text).pathname
  t.equal(pathOf(response.output_text), pathOf(url))
  t.equal(pathOf(message.content[0]?.type === 'text' ? message.content[0].text : ''), pathOf(url))
  await checkBooks(t, gateway, 1)
})

t.test('what a client has left through one surface is joined through another', async t => {
  const { gateway, openai, anthropic } = await start(t)
  const { app: { store } } = gateway
  const prompt = 'a ball\nsandbox:delay 900'
  const abort = new AbortController()
  const left = openai.responses.create({ model, input: prompt }, { signal: abort.signal })
  await until(async () => (await store.all('select id from waiter')).length > 0)
  abort.abort()
  await t.rejects(left)
  await until(async () => (await store.all('select id from waiter')).length === 0)
  const messages = [{ role: 'user' as const, content: prompt }]
  const message = await anthropic.messages.create({ model, max_tokens: 9, messages })
  t.equal(message.stop_reason, 'end_turn')
  await checkBooks(t, gateway, 1)
})

t.test('a client with a short timeout gets the video by its SDK\'s retries, and one is made', async t => {
  const { gateway } = await start(t, { maxHoldMs: 500 })
  const { url, key: apiKey } = gateway
  const input = 'a ball\nsandbox:delay 700'
  const client = new OpenAI({ baseURL: url, apiKey, maxRetries: 30 })
  const response = await client.responses.create({ model, input })
  t.match(response.output_text, /\.mp4/)
  const anthropic = new Anthropic({ baseURL: new URL(url).origin, apiKey, maxRetries: 30 })
  const messages = [{ role: 'user' as const, content: `b ${input}` }]
  const message = await anthropic.messages.create({ model, max_tokens: 9, messages })
  t.equal(message.stop_reason, 'end_turn')
  await checkBooks(t, gateway, 2)
})

t.test('a video that was started is found by its id, and not joined', async t => {
  const { gateway, openai } = await start(t)
  const { body: { id } } = await create(gateway, { prompt: soon })
  const response = await openai.responses.create({ model, input: soon })
  t.match(response.output_text, /\.mp4/)
  t.notMatch(response.output_text, id)
  await until(async () => (await openai.videos.retrieve(id)).status === 'completed')
  await checkBooks(t, gateway, 2)
})
