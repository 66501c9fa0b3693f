import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import errors from '../../plugins/gateway/errors.ts'
import routeTable from '../../plugins/gateway/route-table.ts'
import trace from '../../plugins/gateway/request-record.ts'
import unserved from '../../routes/unserved.ts'

const broken = { payload: '{"broken', headers: { 'content-type': 'application/json' } }

async function createApp (): Promise<FastifyInstance> {
  const app = Fastify({ routerOptions: { maxParamLength: 1024 } })
  await app.register(trace)
  await app.register(errors)
  await app.register(routeTable)
  app.post('/v1/chat/completions', () => ({ ok: true }))
  app.post('/v1/messages', () => ({ ok: true }))
  app.get('/v1/models/:id', () => ({ ok: true }))
  await app.register(unserved)
  return app
}

t.test('a known path with a wrong method names the right ones, whatever its body', async t => {
  const app = await createApp()
  const wrong = await app.inject({ method: 'PUT', url: '/v1/chat/completions?x=1', ...broken })
  t.equal(wrong.statusCode, 405)
  t.equal(wrong.headers.allow, 'POST')
  t.equal(wrong.json().error.code, 'method_not_supported')
  t.match(wrong.json().error.message, /^Not allowed to PUT on \/v1\/chat\/completions\. .*POST/)

  const other = await app.inject({ method: 'DELETE', url: '/v1/models/openai%2Fgpt-5' })
  t.equal(other.statusCode, 405)
  t.equal(other.headers.allow, 'GET, HEAD')

  const options = await app.inject({ method: 'OPTIONS', url: '/v1/models/a' })
  t.equal(options.statusCode, 204)
  t.equal(options.headers.allow, 'GET, HEAD, OPTIONS')
  t.equal((await app.inject({ method: 'OPTIONS', url: '/v1/foo' })).statusCode, 404)

  t.equal((await app.inject({ method: 'HEAD', url: '/v1/models/a' })).statusCode, 200)
  t.equal((await app.inject({ method: 'HEAD', url: '/v1/chat/completions' })).statusCode, 405)
})

t.test('an unknown path is a 404, whatever its body, that says where the path may be meant to lead', async t => {
  const app = await createApp()
  const hint = ' (HINT: The base URL of this gateway ends with /v1. Perhaps you meant /v1/chat/completions.)'
  const cases: [object, string][] = [
    [{ method: 'POST', url: '/v1/foo?key=abc', ...broken }, 'Invalid URL (POST /v1/foo)'],
    [{ method: 'PUT', url: '/v1/foo', payload: 'a', headers: { 'content-type': 'text/csv' } }, 'Invalid URL (PUT /v1/foo)'],
    [{ method: 'POST', url: '/chat/completions' }, `Invalid URL (POST /chat/completions)${hint}`],
    [{ method: 'POST', url: '/v1/v1/chat/completions' }, `Invalid URL (POST /v1/v1/chat/completions)${hint}`],
    [{ method: 'POST', url: '/v1/' }, `Invalid URL (POST /v1/)${hint}`]
  ]
  for (const [request, message] of cases) {
    const answer = await app.inject(request)
    t.equal(answer.statusCode, 404)
    t.strictSame(answer.json(), { error: { message, type: 'invalid_request_error', param: null, code: 'unknown_url' } })
  }
})

t.test('below the Messages API, and to its clients, errors have its shape', async t => {
  const app = await createApp()
  for (const request of [
    { url: '/v1/messages' },
    { url: '/v1/messages/nothing' },
    { url: '/v1/nothing', headers: { 'anthropic-version': '2023-06-01' } }
  ]) {
    const answer = await app.inject(request)
    t.match(answer.json(), { type: 'error', error: { type: String, message: String } }, request.url)
    t.ok(answer.headers['request-id'])
  }
})
