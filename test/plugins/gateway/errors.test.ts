import { once } from 'node:events'
import { request as httpRequest, type ClientRequest } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { text } from 'node:stream/consumers'
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { fetch } from 'undici'
import errors, { frameworkErrors } from '../../../plugins/gateway/errors.ts'
import routeTable from '../../../plugins/gateway/route-table.ts'
import trace from '../../../plugins/gateway/request-record.ts'
import unserved from '../../../routes/unserved.ts'
import { ChatCompletionRequest } from '../../../schemas/openai/chat-completions.ts'
import { clientErrorHandler } from '../../../services/http/client-errors.ts'
import { GatewayError, UpstreamError } from '../../../services/shared/errors.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { ajvOptions } from '../../../services/http/validation.ts'
import { chatRequest } from '../../schemas/corpus.ts'

interface Logged { level: number, err: { type: string, message: string } }

const secret = 'the password is 12345'

async function createApp (t: Test): Promise<{ app: FastifyInstance, logged: Logged[] }> {
  const logged: Logged[] = []
  const app = Fastify({
    ajv: { customOptions: ajvOptions },
    bodyLimit: 1024 * 1024,
    clientErrorHandler,
    frameworkErrors,
    http: { maxHeaderSize: 8192 },
    logger: { level: 'warn', stream: { write: line => { logged.push(JSON.parse(line)) } } }
  })
  await app.register(trace)
  await app.register(errors)
  await app.register(routeTable)
  app.post('/v1/chat/completions', { schema: { body: ChatCompletionRequest } }, () => ({ ok: true }))
  app.get('/v1/models/:id', () => ({ ok: true }))
  const querystring = { type: 'object', required: ['page'], properties: { page: { type: 'string', enum: ['a'] } } }
  app.get('/v1/models', { schema: { querystring } }, () => ({ ok: true }))
  const thrown: Record<string, unknown> = {
    gateway: new GatewayError(402, 'insufficient_quota', 'No money.', { code: 'x', headers: { 'retry-after': '9' } }),
    upstream: new UpstreamError('rate', 'yes', secret, { retryAfterMs: 1500 }),
    store: new StoreUnavailable(new Error(secret)),
    bug: new TypeError(secret),
    foreign: Object.assign(new Error(secret), { statusCode: 403, code: 'AccessDenied' }),
    framework: Object.assign(new Error(secret), { statusCode: 500, code: 'FST_ERR_SOMETHING' }),
    string: secret
  }
  app.get('/throw/:what', ({ params }, reply) => {
    reply.type('text/event-stream')
    throw thrown[Object.values(params ?? {}).join()]
  })
  await app.register(unserved)
  t.teardown(() => app.close())
  return { app, logged }
}

t.test('whatever is thrown is answered in OpenAI\'s shape, and no secret is told', async t => {
  const { app } = await createApp(t)
  const cases: [string, number, string, string | null][] = [
    ['gateway', 402, 'insufficient_quota', 'x'],
    ['upstream', 429, 'requests', 'rate_limit_exceeded'],
    ['store', 503, 'service_unavailable_error', 'service_unavailable'],
    ['bug', 500, 'server_error', null],
    ['foreign', 500, 'server_error', null],
    ['framework', 500, 'server_error', null],
    ['string', 500, 'server_error', null]
  ]
  for (const [what, status, type, code] of cases) {
    const response = await app.inject({ url: `/throw/${what}` })
    t.equal(response.statusCode, status, what)
    t.equal(response.headers['content-type'], 'application/json; charset=utf-8')
    const { error } = response.json()
    t.strictSame(error, { message: error.message, type, param: null, code }, what)
    t.notMatch(response.body, '12345')
  }
  t.equal((await app.inject({ url: '/throw/gateway' })).headers['retry-after'], '9')
  const upstream = await app.inject({ url: '/throw/upstream' })
  t.match(upstream.headers, { 'retry-after': '2', 'retry-after-ms': '1500' })
  t.equal((await app.inject({ url: '/throw/store' })).headers['retry-after'], '1')
})

t.test('a fault of the gateway is logged with its cause, a fault of the client is not', async t => {
  const { app, logged } = await createApp(t)
  await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: { prompt: secret } })
  await app.inject({ url: '/throw/bug' })
  await app.inject({ url: '/throw/store' })
  t.match(logged, [
    { level: 50, reqId: 'req-2', err: { type: 'TypeError', message: secret, stack: String } },
    { level: 40, err: { type: 'StoreUnavailable' } }
  ])
  t.equal(logged.length, 2)
})

t.test('requests that no route can take', async t => {
  const { app } = await createApp(t)
  const json = { 'content-type': 'application/json' }
  const url = '/v1/chat/completions'
  const cases: [object, number, string | null, string | null, RegExp][] = [
    [{ method: 'POST', url: '/v1/foo?key=abc' }, 404, null, 'unknown_url', /^Invalid URL \(POST \/v1\/foo\)$/],
    [{ url: `/v1/${'x'.repeat(2000)}` }, 404, null, 'unknown_url', /^Invalid URL \(GET \/v1\/x{196}…\)$/],
    [{ url: '/v1/models/%zz' }, 400, null, 'invalid_url', /URL/],
    [{ url: `/v1/models/${'x'.repeat(101)}` }, 404, null, 'unknown_url', /URL/],
    [{ method: 'POST', url, payload: '{"a', headers: json }, 400, null, null, /^We could not parse the JSON body/],
    [{ method: 'POST', url, payload: '', headers: json }, 400, null, null, /^We could not parse the JSON body/],
    [{ method: 'POST', url }, 400, null, null, /^We could not parse the JSON body/],
    [{ method: 'POST', url, payload: 'a=1', headers: { 'content-type': 'text/csv' } }, 400, null,
      'unsupported_content_type', /^Unsupported content type: 'text\/csv'\. .*'Content-Type: text\/csv'/],
    [{ method: 'POST', url, payload: chatRequest({ n: 'x' }) }, 400, 'n', 'invalid_type', /^Invalid type for 'n'/],
    [{ url: '/v1/models?page=b' }, 400, 'page', 'invalid_value', /^Invalid value: 'b'\./],
    [{ url: '/v1/models' }, 400, 'page', 'missing_required_parameter', /^Missing required parameter: 'page'\.$/]
  ]
  for (const [request, status, param, code, message] of cases) {
    const response = await app.inject(request)
    const { error } = response.json()
    const title = JSON.stringify(request).slice(0, 100)
    t.equal(response.statusCode, status, title)
    t.strictSame(error, { message: error.message, type: 'invalid_request_error', param, code }, title)
    t.match(error.message, message)
  }
})

const uploadBytes = 40 * 1024 * 1024
const piece = Buffer.alloc(64 * 1024, 'x')

/** As many pieces as an upload has, made only as fast as they are taken. */
function upload (): Readable {
  return Readable.from((function * () {
    for (let sent = 0; sent < uploadBytes; sent += piece.length) yield piece
  })(), { objectMode: false })
}

async function listen (t: Test): Promise<URL> {
  const { app } = await createApp(t)
  return new URL('/v1/chat/completions', await app.listen({ host: '127.0.0.1', port: 0 }))
}

t.test('a client that is still sending too much sees the answer', async t => {
  const url = await listen(t)
  const headers = { 'content-type': 'application/json' }
  const expected = { error: { type: 'invalid_request_error', param: null, code: 'request_too_large' } }

  await t.test('fetch, whole body', async t => {
    const response = await fetch(url, { method: 'POST', headers, body: Buffer.alloc(uploadBytes) })
    t.equal(response.status, 413)
    t.match(await response.json(), expected)
  })

  await t.test('fetch, stream of unknown length', async t => {
    const response = await fetch(url, { method: 'POST', headers, body: upload(), duplex: 'half' })
    t.equal(response.status, 413)
    t.equal(response.headers.get('connection'), 'close')
    t.match(await response.json(), expected)
  })

  const sendings: Record<string, (client: ClientRequest) => void> = {
    'of known length': client => client.setHeader('content-length', uploadBytes).end(Buffer.alloc(uploadBytes)),
    'in chunks': client => upload().pipe(client)
  }
  for (const [title, send] of Object.entries(sendings)) {
    await t.test(`http.request ${title}`, async t => {
      const client = httpRequest(url, { method: 'POST', headers })
      send(client)
      const [response] = await once(client, 'response')
      t.equal(response.statusCode, 413)
      t.match(JSON.parse(await text(response)), expected)
    })
  }

  await t.test('a client that sends everything before it reads anything', async t => {
    const socket = connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true })
    socket.pause()
    socket.write(`POST ${url.pathname} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n` +
      `content-length: ${uploadBytes}\r\n\r\n`)
    await pipeline(upload(), socket, { end: false })
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    t.match(head, /^HTTP\/1.1 413 /)
    t.match(JSON.parse(body), expected)
  })
})

t.test('what is not HTTP is answered in the same shape', async t => {
  const { hostname, port } = await listen(t)
  const cases: [string, number, string][] = [
    ['GET / HTTP/1.1\r\nhost: a\r\nbroken header\r\n\r\n', 400, 'bad_request'],
    ['nonsense\r\n\r\n', 400, 'bad_request'],
    [`GET / HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(9000)}\r\n\r\n`, 431, 'headers_too_large']
  ]
  for (const [bytes, status, code] of cases) {
    const socket = connect(Number(port), hostname)
    socket.write(bytes)
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
    t.match(head, new RegExp(`^HTTP/1.1 ${status} `))
    t.match(head, 'content-type: application/json')
    t.match(JSON.parse(body), { error: { type: 'invalid_request_error', param: null, code } })
  }
})
