import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { startGateway, type Gateway } from '../helpers/gateway.ts'

const body = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })

interface Answer { status: number, headers: Record<string, string>, body: string }

/** A connection to the gateway; the headers and bodies of its answers are read one after another. */
class Client {
  readonly socket: Socket
  #text = ''

  constructor ({ url }: Pick<Gateway, 'url'>) {
    const { hostname, port } = new URL(url)
    this.socket = connect(Number(port), hostname)
    this.socket.on('error', () => {})
    this.socket.setEncoding('latin1').on('data', text => { this.#text += text })
  }

  send (...lines: string[]): this {
    this.socket.write(lines.join('\r\n'), 'latin1')
    return this
  }

  async answer (): Promise<Answer> {
    for (;;) {
      const [head = '', rest] = this.#text.split(/\r\n\r\n(.*)/s)
      const [first = '', ...lines] = head.split('\r\n')
      const headers = Object.fromEntries(lines.map(line => line.toLowerCase().split(/: ?(.*)/s)))
      const length = Number(headers['content-length'] ?? 0)
      if (rest !== undefined && rest.length >= length) {
        this.#text = rest.slice(length)
        return { status: Number(first.split(' ')[1]), headers, body: rest.slice(0, length) }
      }
      if (this.socket.readableEnded || this.socket.destroyed) throw new Error(`closed after '${this.#text}'`)
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close')])
    }
  }

  async closed (): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close')
  }
}

async function codeOf (answer: Response): Promise<unknown> {
  const { error } = await answer.json() as { error?: { code: unknown } }
  return error?.code
}

const hasShape = ({ body }: Answer): unknown => JSON.parse(body).error.message.length > 0

t.test('what Node.js leaves to its user is as the RFCs say, in OpenAI\'s shape', async t => {
  const gateway = await startGateway(t)
  const auth = `Authorization: ${gateway.headers['authorization']}`
  const cases: [name: string, status: number, lines: string[]][] = [
    ['two Host headers', 400, ['GET /v1/models HTTP/1.1', 'Host: a', auth, 'HOST: b', '', '']],
    ['two equal Host headers', 400, ['GET /v1/models HTTP/1.1', 'Host: a', 'Host: a', auth, '', '']],
    ['no Host header', 400, ['GET /v1/models HTTP/1.1', auth, '', '']],
    ['an unknown expectation', 417, ['GET /v1/models HTTP/1.1', 'Host: a', 'Expect: a-pony', auth, '', '']],
    ['CONNECT', 405, ['CONNECT example.com:443 HTTP/1.1', 'Host: example.com:443', '', '']],
    ['an unknown transfer coding', 501, [
      'POST /v1/chat/completions HTTP/1.1', 'Host: a', auth, 'Content-Type: application/json',
      'Transfer-Encoding: gzip, chunked', '', '2', '{}', '0', '', ''
    ]]
  ]
  for (const [name, status, lines] of cases) {
    const client = new Client(gateway).send(...lines)
    const answer = await client.answer()
    t.equal(answer.status, status, name)
    t.ok(hasShape(answer), name)
    t.equal(answer.headers['connection'], 'close', name)
    await client.closed()
  }
  const old = new Client(gateway).send('GET /v1/models HTTP/1.0', auth, '', '')
  t.equal((await old.answer()).status, 200, 'HTTP/1.0 needs no Host header')
})

t.test('a client that waits to be told to send its body is not told so before its key is known', async t => {
  const gateway = await startGateway(t)
  const ask = (authorization: string) => new Client(gateway).send(
    'POST /v1/chat/completions HTTP/1.1', 'Host: a', `Authorization: ${authorization}`, 'Content-Type: application/json',
    'Expect: 100-continue', `Content-Length: ${body.length}`, '', '')
  const refused = ask('Bearer sk-wrong')
  t.equal((await refused.answer()).status, 401)
  await refused.closed()
  const accepted = ask(gateway.headers['authorization'] ?? '')
  t.equal((await accepted.answer()).status, 100)
  accepted.send(body)
  t.equal((await accepted.answer()).status, 200)
  accepted.socket.destroy()
})

t.test('a connection stays usable after a body that is not what it should be', async t => {
  const gateway = await startGateway(t)
  const client = new Client(gateway)
  const post = (text: string) => client.send('POST /v1/chat/completions HTTP/1.1', 'Host: a',
    `Authorization: ${gateway.headers['authorization']}`, 'Content-Type: application/json', `Content-Length: ${text.length}`, '', text)
  for (const [text, status] of [['{"broken', 400], ['', 400], [`{"a":${'['.repeat(300)}`, 400], ['{}', 400], [body, 200]] as const) {
    post(text)
    const answer = await client.answer()
    t.equal(answer.status, status, text.slice(0, 20))
    t.not(answer.headers['connection'], 'close', text.slice(0, 20))
  }
  client.socket.destroy()
})

t.test('compressed bodies are read within a bound, and unknown codings are named', async t => {
  const { url, headers } = await startGateway(t, { env: { TOLLGATE_BODY_LIMIT: '64KiB' } })
  const send = async (coding: string, bytes: Buffer) => {
    const answer = await fetch(`${url}/chat/completions`, {
      method: 'POST', headers: { ...headers, 'content-encoding': coding }, body: new Uint8Array(bytes)
    })
    return { status: answer.status, code: await codeOf(answer), accepts: answer.headers.get('accept-encoding') }
  }
  const bomb = Buffer.from(`{"model":"sandbox-chat","x":"${' '.repeat(50 * 1024 * 1024)}"}`)
  for (const [coding, compress] of [['gzip', gzipSync], ['BR', brotliCompressSync], ['zstd', zstdCompressSync]] as const) {
    t.equal((await send(coding, compress(body))).status, 200, coding)
    t.match(await send(coding, compress(bomb)), { status: 413, code: 'request_too_large' }, coding)
    t.equal((await send(coding, compress(body).subarray(0, 20))).status, 400, `${coding}, cut`)
    t.equal((await send(coding, Buffer.from(body))).status, 400, `${coding} only by its name`)
  }
  t.equal((await send('identity', Buffer.from(body))).status, 200)
  for (const coding of ['deflate', 'gzip, gzip', 'aes128gcm']) {
    t.match(await send(coding, Buffer.from(body)), { status: 415, code: 'unsupported_content_encoding', accepts: 'gzip, br, zstd' }, coding)
  }
})

t.test('a route takes no more than its kind of body', async t => {
  const { url, headers } = await startGateway(t, { env: { TOLLGATE_ADMIN_KEY: 'operator-key-of-this-test' } })
  const origin = new URL(url).origin
  const text = (bytes: number) => JSON.stringify({ model: 'sandbox-chat', prompt: 'a'.repeat(bytes) })
  for (const [path, bytes, key] of [
    ['/v1/completions', 9 * 1024 ** 2, null], ['/admin/keys', 2 * 1024 ** 2, 'Bearer operator-key-of-this-test']
  ] as const) {
    const own = key === null ? headers : { ...headers, authorization: key }
    const answer = await fetch(`${origin}${path}`, { method: 'POST', headers: own, body: text(bytes) })
    t.match([answer.status, await codeOf(answer)], [413, 'request_too_large'], path)
  }
})

t.test('bytes of bodies have a budget, of which one key does not get all', async t => {
  const gateway = await startGateway(t, { env: { TOLLGATE_BODY_BUDGET: '1MiB' } })
  const { app, url, headers } = gateway
  const head = (length: number) => ['POST /v1/chat/completions HTTP/1.1', 'Host: a', `Authorization: ${headers['authorization']}`,
    'Content-Type: application/json', `Content-Length: ${length}`, '', '{']
  // A body alone may be larger than the budget.
  const large = JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'a' + ' '.repeat(2 * 1024 ** 2) }] })
  t.equal((await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: large })).status, 200)
  while (app.load.counts.bytes > 0) await new Promise(resolve => setImmediate(resolve))

  const slow = new Client(gateway).send(...head(900_000))
  while (app.load.counts.bytes === 0) await new Promise(resolve => setImmediate(resolve))
  const refused = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: large.slice(0, 200_000) })
  t.match([refused.status, refused.headers.get('retry-after')], [503, '2'])
  t.match(await refused.json(), { error: { type: 'service_unavailable_error', code: 'server_is_overloaded' } })
  const { account } = await app.store.all<{ account: string }>('select account from api_key').then(([row]) => row ?? { account: '' })
  const other = await app.keys.create({ account, label: 'other' })
  const answer = await fetch(`${url}/chat/completions`, {
    method: 'POST', headers: { ...headers, authorization: `Bearer ${other.key}` }, body
  })
  t.equal(answer.status, 200, 'another key has room')
  slow.socket.destroy()
  while (app.load.counts.bytes > 0) await new Promise(resolve => setImmediate(resolve))
  t.same(app.load.counts, { requests: 0, streams: 0, polls: 0, bytes: 0 }, 'nothing stays counted')
})
