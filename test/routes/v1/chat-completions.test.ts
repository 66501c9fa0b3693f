import t from 'tap'
import { buildGateway } from '../../helpers/gateway.ts'

const url = '/v1/chat/completions'
const body = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello there' }] }

t.test('a whole answer and a stream', async t => {
  const { app, headers } = await buildGateway(t)
  const whole = await app.inject({ method: 'POST', url, headers, payload: body })
  t.equal(whole.statusCode, 200)
  t.equal(whole.headers['content-type'], 'application/json; charset=utf-8')
  t.equal(whole.headers['x-tollgate-model'], 'sandbox-chat')
  const stream = await app.inject({ method: 'POST', url, headers, payload: { ...body, stream: true } })
  t.equal(stream.headers['content-type'], 'text/event-stream; charset=utf-8')
  t.ok(stream.body.endsWith('data: [DONE]\n\n'))
})

t.test('a request id is taken from the client when it is well-formed', async t => {
  const { app, headers } = await buildGateway(t)
  const idOf = async (id: string) => (await app.inject({ url: '/v1/models', headers: { ...headers, 'x-request-id': id } })).headers['x-request-id']
  t.equal(await idOf('trace-42.a:b'), 'trace-42.a:b')
  for (const id of ['', 'with space', 'x'.repeat(129), 'ü']) t.match(await idOf(id), /^req_[0-9a-f]+$/)
})

t.test('what is wrong with the transport', async t => {
  const { app, headers } = await buildGateway(t, { env: { TOLLGATE_BODY_LIMIT: '2KiB' } })
  const cases: [string, object, number, object][] = [
    ['broken JSON', { payload: '{"model":' }, 400, { param: null, code: null }],
    ['an empty body', { payload: '' }, 400, { code: null }],
    ['an array', { payload: '[]' }, 400, {}],
    ['another content type', { payload: 'a=b', headers: { ...headers, 'content-type': 'text/plain' } }, 400,
      { code: 'unsupported_content_type' }],
    ['too large', { payload: JSON.stringify({ ...body, user: 'x'.repeat(3000) }) }, 413, { code: 'request_too_large' }],
    ['nested too deeply', { payload: `{"model":"m","messages":[],"x":${'['.repeat(300)}${']'.repeat(300)}}` }, 400, {}]
  ]
  for (const [name, request, status, error] of cases) {
    const answer = await app.inject({ method: 'POST', url, headers, ...request })
    t.equal(answer.statusCode, status, name)
    t.match(answer.json().error, { message: String, type: 'invalid_request_error', ...error }, name)
  }
  const charset = { ...headers, 'content-type': 'application/json; charset=utf-8' }
  t.equal((await app.inject({ method: 'POST', url, headers: charset, payload: body })).statusCode, 200)
})

t.test('wrong methods and unknown paths answer in the same shape', async t => {
  const { app, headers } = await buildGateway(t)
  const wrong = await app.inject({ method: 'GET', url, headers })
  t.equal(wrong.statusCode, 405)
  t.equal(wrong.headers.allow, 'POST')
  t.match(wrong.json().error, { type: 'invalid_request_error', code: 'method_not_supported' })
  for (const path of ['/v1', '/v1/', '/v1/nothing', '/v1/chat', '/v1/chat/completions/x', '/nothing', '/v2/models']) {
    const answer = await app.inject({ method: 'POST', url: path, headers, payload: {} })
    t.equal(answer.statusCode, 404, path)
    t.strictSame(Object.keys(answer.json().error), ['message', 'type', 'param', 'code'])
  }
})

t.test('strange keys and characters harm nothing', async t => {
  const { app, headers } = await buildGateway(t)
  const text = '{"model":"nothing","__proto__":{"a":1},"constructor":{"prototype":{"b":2}},"model":"sandbox-chat",' +
    '"messages":[{"role":"user","content":"lone \\ud800 surrogate","__proto__":{"c":3}}]}'
  const answer = await app.inject({ method: 'POST', url, headers, payload: text })
  t.equal(answer.statusCode, 200)
  t.equal(answer.json().model, 'sandbox-chat', 'of a key that stands twice the last one counts')
  t.notOk('a' in {} || 'b' in {} || 'c' in {})
})

t.test('the log has one line per request, without a prompt or a key', async t => {
  const { app, headers, key, lines, line } = await buildGateway(t)
  const payload = { ...body, messages: [{ role: 'user', content: 'very secret words' }] }
  await app.inject({ method: 'POST', url, headers: { ...headers, 'x-request-id': 'one' }, payload })
  const logged = await line(({ reqId }) => reqId === 'one')
  t.match(logged, {
    key: key.split('-')[2],
    method: 'POST',
    path: url,
    status: 200,
    asked: 'sandbox-chat',
    model: 'sandbox-chat',
    used: 'sandbox-chat',
    promptTokens: Number,
    completionTokens: Number,
    firstByteMs: Number,
    totalMs: Number
  })
  t.equal(lines.filter(({ reqId }) => reqId === 'one').length, 1)
  const text = JSON.stringify(lines)
  t.notMatch(text, 'secret words')
  t.notMatch(text, key.split('-')[3] ?? '')
})
