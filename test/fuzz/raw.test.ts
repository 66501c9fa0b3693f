import { once } from 'node:events'
import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import fc from 'fast-check'
import t from 'tap'
import { startGateway, type Gateway } from '../helpers/gateway.ts'
import { anyCharacter } from '../helpers/any-character.ts'

// Sends malformed HTTP. The answer is never a 5xx, and the gateway keeps serving.

const numRuns = Number(process.env['FUZZ_RUNS'] ?? 60)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)
/** Longest time for an answer; the slowest case waits for a missing body. */
const limitMs = 30_000

/** Sends raw bytes, ends its side, and returns the whole answer. */
async function exchange ({ url }: Gateway, bytes: string | Uint8Array, halfClose = true): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  socket.on('error', () => {})
  const timer = setTimeout(() => socket.destroy(), limitMs)
  try {
    await once(socket, 'connect')
    if (halfClose) socket.end(bytes)
    else socket.write(bytes)
    return await readText(socket)
  } catch (error) {
    // A reset is a valid answer too.
    if (error instanceof Error && 'code' in error && error.code !== 'ABORT_ERR') return ''
    throw error
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}

const statusesIn = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, code]) => Number(code))

async function works (t: Tap, gateway: Gateway): Promise<void> {
  const answer = await fetch(`${gateway.url}/models`, { headers: gateway.headers })
  t.equal(answer.status, 200, 'the gateway goes on')
  await answer.text()
}
type Tap = Pick<typeof t, 'equal'>

t.test(`garbage is refused without a 5xx (seed ${seed})`, async t => {
  const gateway = await startGateway(t)
  const line = fc.constantFrom('GET / HTTP/1.1', 'POST /v1/chat/completions HTTP/1.1', 'GET  /v1/models', 'PRI * HTTP/2.0',
    'GET /v1/models HTTP/9.9', 'OPTIONS * HTTP/1.1', 'CONNECT a:1 HTTP/1.1', 'GET http://other/v1/models HTTP/1.1', '\u0000')
  const header = fc.oneof(
    fc.constantFrom('Host: a', 'Host: a\r\nHost: b', 'Content-Length: 5', 'Content-Length: -1', 'Content-Length: 5, 6',
      'Transfer-Encoding: chunked', 'Transfer-Encoding: xchunked', 'Expect: 100-continue', 'Expect: 200-ok',
      'Upgrade: websocket\r\nConnection: upgrade', 'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings', 'Connection: close',
      `Authorization: ${gateway.headers['authorization']}`, 'Content-Type: application/json', ' folded', ': empty', 'no colon'),
    fc.string({ maxLength: 60, unit: anyCharacter }))
  const body = fc.oneof(fc.string({ maxLength: 100 }), fc.constantFrom('{"model":', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', '-1\r\n'))
  const message = fc.tuple(line, fc.array(header, { maxLength: 6 }), body).map(([line, headers, body]) => {
    return Buffer.from([line, ...headers, '', body].join('\r\n'))
  })
  const bytes = fc.oneof(message, fc.uint8Array({ maxLength: 300 }))
  await fc.assert(fc.asyncProperty(bytes, async bytes => {
    // An unknown transfer coding is 501 by RFC 9112.
    const bad = statusesIn(await exchange(gateway, bytes)).filter(status => status >= 500 && status !== 501)
    if (bad.length > 0) throw new Error(`answered ${bad}`)
  }), { numRuns, seed })
  await works(t, gateway)
})

t.test('forms of request smuggling are refused, or read as one request and closed', async t => {
  const gateway = await startGateway(t)
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: ${gateway.headers['authorization']}\r\n`
  const hidden = 'GET /v1/models HTTP/1.1\r\nHost: a\r\n\r\n'
  const forms = {
    'a length and chunks': `Content-Length: ${hidden.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'two lengths': `Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    'a length with a sign': `Content-Length: +0\r\n\r\n${hidden}`,
    'an unknown coding': `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`,
    'a coding with a space before its colon': `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`,
    'chunked that is not last': `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${hidden}`,
    'a folded header': `X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n${hidden}`,
    'a chunk size that is none': `Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n${hidden}`,
    'lines that end with a line feed alone': `Transfer-Encoding: chunked\n\n0\n\n${hidden}`
  }
  for (const [name, rest] of Object.entries(forms)) {
    const statuses = statusesIn(await exchange(gateway, head + rest))
    t.ok(statuses.every(status => status >= 400 && status < 500), `${name}: ${statuses}`)
    // It has no key, so its answer would be 401.
    t.notOk(statuses.includes(401), `${name}: nothing hidden is answered`)
  }
  await works(t, gateway)
})

t.test('pipelined requests are answered in order, even if one is malformed', async t => {
  const gateway = await startGateway(t)
  const auth = `Host: a\r\nAuthorization: ${gateway.headers['authorization']}\r\n`
  const post = (body: string) => `POST /v1/chat/completions HTTP/1.1\r\n${auth}Content-Type: application/json\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const good = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
  const get = (path: string) => `GET ${path} HTTP/1.1\r\n${auth}\r\n`
  const last = `GET /v1/models HTTP/1.1\r\n${auth}Connection: close\r\n\r\n`
  const text = await exchange(gateway, get('/v1/models') + post(good) + post('{}') + get('/v1/models/none') + last, false)
  t.strictSame(statusesIn(text), [200, 200, 400, 404, 200])
})

t.test('oversized headers are refused, and slow or half-closed clients do not delay others', async t => {
  const gateway = await startGateway(t)
  const large = await exchange(gateway, `GET /v1/models HTTP/1.1\r\nHost: a\r\nX-Large: ${'a'.repeat(100_000)}\r\n\r\n`)
  t.strictSame(statusesIn(large).filter(status => status !== 431), [])
  const many = await exchange(gateway, `GET /v1/models HTTP/1.1\r\nHost: a\r\n${'X-A: b\r\n'.repeat(5000)}\r\n`)
  t.ok(statusesIn(many).every(status => status < 500))

  const { hostname, port } = new URL(gateway.url)
  const slow = Array.from({ length: 50 }, () => connect({ host: hostname, port: Number(port) }))
  await Promise.all(slow.map(socket => once(socket, 'connect')))
  for (const socket of slow) socket.on('error', () => {}).write('GET /v1/models HTTP/1.1\r\nHost:')
  await works(t, gateway)
  const unfinished = await exchange(gateway, 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n' +
    `Authorization: ${gateway.headers['authorization']}\r\nContent-Type: application/json\r\n\r\n{"model"`)
  t.ok(statusesIn(unfinished).every(status => status < 500), 'a body that ends early')
  for (const socket of slow) socket.destroy()
  await works(t, gateway)
})
