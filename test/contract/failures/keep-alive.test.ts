import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import t, { type Test } from 'tap'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { document, head, reply, send, sequence, startUpstream, type Script } from '../../servers/upstream.ts'

const messages = [{ role: 'user', content: 'Hello' }]
const refused = document('{"error": {"message": "The prompt is not allowed here."}}', { status: 400 })

/** Posts a streamed request; the status, the pieces with the time of each in ms, and the whole text. */
async function post (
  t: Test, script: Script, path = '/chat/completions', body: object = { messages },
  more: { on?: boolean, header?: string } = {}
) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const config = configFor(providerAt(upstream.url, { dialect: 'compatible' }))
  const { on: keepAlive = false, header } = more
  const requests = { ...config.requests, keepAlive }
  const gateway = await startGateway(t, { config: { ...config, requests } })
  const headers = { ...gateway.headers, ...(header === undefined ? {} : { 'x-tollgate-keep-alive': header }) }
  upstream.script(script)
  const startedMs = performance.now()
  const response = await request(`${gateway.url}${path}`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'chat', stream: true, ...body })
  })
  const pieces: { text: string, ms: number }[] = []
  for await (const piece of response.body) {
    pieces.push({ text: String(piece), ms: performance.now() - startedMs })
  }
  const text = pieces.map(piece => piece.text).join('')
  return { status: response.statusCode, headers: response.headers, pieces, text }
}

const after = (ms: number, script: Script): Script => async exchange => {
  await sleep(ms)
  await script(exchange)
}

t.test('a stream has its headers and a comment after 10 s, and then what the provider says', { jobs: 6 }, async t => {
  const slow = after(11_000, reply())
  t.test('chat', async t => {
    const { status, headers, pieces: [first], text } = await post(t, slow)
    t.match({ status, headers }, { status: 200, headers: { 'content-type': /event-stream/ } })
    t.match(first, { text: ': keep-alive\n\n' })
    // It is the first piece, so it came before what the provider sent after 11 s.
    t.ok(first !== undefined && first.ms >= 9_900, `after ${first?.ms} ms`)
    t.match(text, /"finish_reason":"stop".*data: \[DONE\]\n\n$/s)
  })
  t.test('messages', async t => {
    const { pieces: [first], text } = await post(t, slow, '/messages', { messages, max_tokens: 100 })
    t.match(first, { text: 'event: ping\ndata: {"type":"ping"}\n\n' })
    t.match(text, /event: message_start.*event: message_stop/s)
  })
  t.test('responses', async t => {
    const { pieces: [first], text } = await post(t, slow, '/responses', { input: 'Hello' })
    t.match(first, { text: ': keep-alive\n\n' })
    t.match(text, 'event: response.completed')
  })
  t.test('a failure before keeps its status', async t => {
    t.match(await post(t, after(1_000, refused)), { status: 400, text: /not allowed here/ })
  })
  t.test('a failure after ends the stream by an error', async t => {
    const late = await post(t, after(11_000, refused))
    t.match(late, { status: 200, text: /^: keep-alive\n\ndata: \{"error":.*not allowed here/ })
    const events = await post(t, after(11_000, refused), '/messages', { messages, max_tokens: 100 })
    t.match(events, { status: 200, text: /^event: ping\n.*\n\nevent: error\n.*not allowed here/s })
  })
  t.test('a silence of 15 s within a stream too', async t => {
    const chunk = (delta: object, reason: string | null = null): Buffer => {
      const choices = [{ index: 0, delta, finish_reason: reason }]
      const body = { id: 'a', object: 'chat.completion.chunk', created: 1, choices }
      return Buffer.from(`data: ${JSON.stringify(body)}\n\n`)
    }
    const { text } = await post(t, sequence(
      head({ 'content-type': 'text/event-stream' }),
      send([chunk({ role: 'assistant', content: 'Hi' })]),
      () => sleep(17_000),
      send([chunk({}, 'stop'), Buffer.from('data: [DONE]\n\n')]),
      exchange => { exchange.response.end() }
    ))
    t.match(text, /"Hi".*\n\n: keep-alive\n\ndata: .*"stop".*\[DONE\]/s)
  })
})

t.test('a whole response has blanks before it, if the client or the operator says so', { jobs: 6 }, async t => {
  const slow = after(11_000, reply())
  const whole = { messages, stream: false }
  for (const [name, more] of Object.entries({ client: { header: 'on' }, operator: { on: true } })) {
    t.test(name, async t => {
      const { status, headers, pieces: [first], text } = await post(t, slow, '/chat/completions', whole, more)
      t.match({ status, headers }, { status: 200, headers: { 'content-type': /application\/json/ } })
      t.equal(first?.text, ' ')
      t.match(JSON.parse(text), { object: 'chat.completion', choices: [{ finish_reason: 'stop' }] })
    })
  }
  t.test('not otherwise', async t => {
    for (const more of [{}, { on: true, header: 'off' }]) {
      const { pieces, headers } = await post(t, slow, '/chat/completions', whole, more)
      t.match(pieces, [{ text: /^\{/ }])
      t.ok(headers['x-tollgate-model'])
    }
    t.match(await post(t, reply(), '/chat/completions', whole, { header: 'yes' }), { status: 400, text: /`on` or `off`/ })
  })
  t.test('messages and responses', async t => {
    const message = await post(t, slow, '/messages', { ...whole, max_tokens: 100 }, { on: true })
    t.match(JSON.parse(message.text), { type: 'message', stop_reason: 'end_turn' })
    const response = await post(t, slow, '/responses', { input: 'Hello', stream: false }, { on: true })
    t.match(JSON.parse(response.text), { object: 'response', status: 'completed' })
  })
  t.test('a failure before keeps its status, a later one is the body', async t => {
    t.match(await post(t, after(1_000, refused), '/chat/completions', whole, { on: true }), { status: 400 })
    const late = await post(t, after(11_000, refused), '/chat/completions', whole, { on: true })
    t.match(late, { status: 200, text: /^ \{/ })
    t.match(JSON.parse(late.text), { error: { message: /not allowed here/ } })
    const message = await post(t, after(11_000, refused), '/messages', { ...whole, max_tokens: 100 }, { on: true })
    t.match(JSON.parse(message.text), { type: 'error', error: { message: /not allowed here/ } })
  })
})
