import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { startGateway, type Gateway } from '../helpers/gateway.ts'
import { clientNames, clients, errorClasses } from './clients.ts'

const messages = [{ role: 'user' as const, content: 'Hello' }]

for (const name of clientNames) {
  t.test(`${name}: a request needs a model that is not empty`, async t => {
    const gateway = await startGateway(t)
    const client = clients[name](gateway)
    const { BadRequestError } = errorClasses[name]
    for (const model of ['', undefined]) {
      // The types of the SDK do not allow to leave it out.
      const given = { model: model as string }
      const calls = {
        chat: () => client.chat.completions.create({ ...given, messages }),
        'a stream': () => client.chat.completions.create({ ...given, messages, stream: true }),
        'a video': () => client.post('/chat/completions', { body: { ...given, messages, video: { seconds: 4 } } }),
        legacy: () => client.completions.create({ ...given, prompt: 'Hello' }),
        images: () => client.images.generate({ ...given, prompt: 'A fox' }),
        decisions: () => client.post('/routing/decisions', { body: { ...given, messages } })
      }
      for (const [what, call] of Object.entries(calls)) {
        const error: unknown = await call().then(() => null, error => error)
        if (!(error instanceof BadRequestError)) {
          t.fail(`${what} was not refused`, { error })
          continue
        }
        t.match(error.message, '400 you must provide a model parameter', what)
        t.match(error, { status: 400, type: 'invalid_request_error', param: null, code: null }, what)
      }
    }
  })
}

t.test('a path that a client did not normalize is not served, with any method', async t => {
  const gateway = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: 'operator-key-of-this-test' } })
  const paths = [
    '/v1/x/../models', '/v1/./models', '/v1/x/..%2fmodels', '/v1/x/%2e%2e/models', '/v1/x/%2E./models', '/v1/x/.%2e/models',
    '/v1//models', '//v1/models', '/v1\\models', '/docs/../metrics', '/docs/%2e%2e/metrics', '/./metrics',
    '//metrics', '/v1/../healthz', '/admin/x/../keys', '/admin//keys', '/v1/x/../models?limit=1', '/v1/x/../images/generations'
  ]
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const title = `${method} ${path}`
      const { status, body, head } = await ask(gateway, method, path)
      t.equal(status, 404, title)
      const { error } = body
      t.strictSame(error, { message: error.message, type: 'invalid_request_error', param: error.param, code: error.code }, title)
      t.notMatch(head, /^allow:/m, title)
    }
  }
  const { status, head } = await ask(gateway, 'PUT', '/v1/models')
  t.equal(status, 405)
  t.match(head, /^allow: GET, HEAD$/m)
})

interface Raw { status: number, head: string, body: { error: Record<string, unknown> } }

/** One request whose path is sent as it is: HTTP clients normalize paths. */
async function ask ({ url, key }: Gateway, method: string, path: string): Promise<Raw> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(`${method} ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\nconnection: close\r\n` +
    'content-length: 0\r\n\r\n')
  let text = ''
  socket.setEncoding('utf8').on('data', piece => { text += piece })
  await once(socket, 'close')
  const [head = '', body = ''] = text.replaceAll('\r\n', '\n').split('\n\n')
  return { status: Number(head.split(' ')[1]), head, body: JSON.parse(body) as Raw['body'] }
}
