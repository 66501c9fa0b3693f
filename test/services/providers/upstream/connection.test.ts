import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { brotliCompressSync, constants, createGzip, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { createConnection } from '../../../../services/providers/upstream/connection.ts'
import { UpstreamError } from '../../../../services/shared/errors.ts'
import type {
  Authorize, ChunkSink, Connection, UpstreamResponse
} from '../../../../services/providers/upstream/response.ts'
import { rejection } from '../../../helpers/thrown.ts'
import { generous } from '../../../helpers/timeouts.ts'
import { until } from '../../../helpers/until.ts'

const maxBytes = 64 * 1024 * 1024

type Handler = (request: IncomingMessage, response: ServerResponse) => void

interface Pair {
  connection: Connection
  deadlines: Deadlines
  /** Every connection the server has accepted. */
  sockets: Socket[]
  get (signal?: AbortSignal): Promise<UpstreamResponse>
}

/** A server and a connection to its `/v1?key=1`. */
async function startPair (
  t: Test, handler: Handler, timeouts: Partial<typeof generous> = {}, authorize?: Authorize
): Promise<Pair> {
  const server = createServer(handler)
  const sockets: Socket[] = []
  server.on('connection', socket => { sockets.push(socket) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { sockets, ...connectTo(t, (server.address() as AddressInfo).port, timeouts, authorize) }
}

/** A server that answers each connection with raw bytes. */
async function startRaw (t: Test, answer: (socket: Socket) => void): Promise<Pair> {
  const sockets: Socket[] = []
  const server = createTcpServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.once('data', () => answer(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { sockets, ...connectTo(t, (server.address() as AddressInfo).port) }
}

function connectTo (t: Test, port: number, timeouts: Partial<typeof generous> = {}, authorize?: Authorize) {
  const deadlines = new Deadlines(5)
  const baseUrl = `http://127.0.0.1:${port}/v1?key=1`
  const connection = createConnection({
    baseUrl, timeouts: { ...generous, ...timeouts }, maxConnections: 4, deadlines, authorize
  })
  // A test may have closed it.
  t.teardown(() => connection.close().catch(() => {}))
  const get = (signal = new AbortController().signal) =>
    connection.send({ method: 'GET', path: '/models', headers: {}, signal })
  return { connection, deadlines, get }
}

/** Writes without end, until the client has gone. */
function pour (response: ServerResponse): void {
  if (!response.destroyed) response.write(Buffer.alloc(16 * 1024), () => setImmediate(pour, response))
}

/** Collects what an exchange pipes; `isFree` says whether more may come after a chunk. */
function pipe (exchange: UpstreamResponse, isFree: (chunk: Buffer) => boolean = () => true): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  const sink: ChunkSink = {
    chunk (bytes) {
      chunks.push(Buffer.from(bytes))
      return isFree(bytes)
    },
    end: () => resolve(Buffer.concat(chunks)),
    fail: reject
  }
  exchange.pipeTo(sink)
  return promise
}

/** The three ways to read a body. */
const readers: Record<string, (exchange: UpstreamResponse) => Promise<Buffer>> = {
  read: exchange => exchange.read(maxBytes),
  iterate: async exchange => Buffer.concat(await Array.fromAsync(exchange)),
  pipe: exchange => pipe(exchange)
}

t.test('sends method, path, query, headers and body below the base URL', async t => {
  const { promise, resolve } = Promise.withResolvers<object>()
  const { connection } = await startPair(t, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    resolve({ method: request.method, url: request.url, header: request.headers['x-one'], body })
    response.writeHead(201, { 'x-two': 'b', 'set-cookie': ['a=1', 'b=2'] }).end('made')
  })
  const { signal } = new AbortController()
  const exchange = await connection.send({
    method: 'POST', path: '/chat', headers: { 'x-one': 'a' }, body: Buffer.from('Grüße'), signal
  })
  t.equal(exchange.status, 201)
  t.match(exchange.headers, { 'x-two': 'b', 'set-cookie': ['a=1', 'b=2'] })
  t.equal((await exchange.read(100)).toString(), 'made')
  t.same(await promise, { method: 'POST', url: '/v1/chat?key=1', header: 'a', body: 'Grüße' })
})

t.test('each request is authorized by its URL, headers and body, just before it is sent', async t => {
  const seen: object[] = []
  const authorize: Authorize = async ({ method, url, headers, body }) => {
    seen.push({ method, url: url.pathname + url.search, headers, body: body?.toString() })
    return { authorization: `token ${seen.length}` }
  }
  const { connection, get } = await startPair(t, (request, response) => {
    response.end(request.headers.authorization)
  }, {}, authorize)
  const { signal } = new AbortController()
  const request = { method: 'POST', path: '/chat', headers: { 'x-one': 'a' }, body: Buffer.from('{}'), signal } as const
  t.equal((await (await connection.send(request)).read(100)).toString(), 'token 1')
  t.equal((await (await get()).read(100)).toString(), 'token 2')
  t.same(seen, [
    { method: 'POST', url: '/v1/chat?key=1', headers: { 'x-one': 'a' }, body: '{}' },
    { method: 'GET', url: '/v1/models?key=1', headers: {}, body: undefined }
  ])
})

t.test('a request whose authorization is refused is repeated once, if there may be another', async t => {
  const refused: object[] = []
  const tokens = ['old', 'new', 'other', 'last']
  const authorize: Authorize = Object.assign(async () => ({ authorization: tokens.shift() ?? 'none' }), {
    refused (headers: object) { return refused.push(headers) !== 2 }
  })
  const { get } = await startPair(t, ({ headers: { authorization } }, response) => {
    response.writeHead(authorization === 'new' ? 200 : 401).end(authorization)
  }, {}, authorize)
  const answers = []
  for (let count = 0; count < 3; count++) {
    const response = await get()
    answers.push([response.status, (await response.read(100)).toString()])
  }
  t.same(answers, [[200, 'new'], [401, 'other'], [401, 'none']])
  t.same(refused, ['old', 'other', 'last'].map(authorization => ({ authorization })))
})

t.test('a request that cannot be authorized is not sent', async t => {
  const { get, sockets } = await startPair(t, (_, response) => { response.end() }, {}, async () => {
    throw new UpstreamError('auth', 'no', 'There are no credentials.')
  })
  t.match(await rejection(get()), { kind: 'auth', sent: 'no', message: 'There are no credentials.' })
  t.equal(sockets.length, 0)
})

t.test('an informational response is not the answer, and a redirect is not followed', async t => {
  const early = await startPair(t, (_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' })
    response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end('moved')
  })
  const exchange = await early.get()
  t.equal(exchange.status, 302)
  t.equal((await exchange.read(100)).toString(), 'moved')
})

for (const [name, read] of Object.entries(readers)) {
  t.test(`${name}: a body in pieces arrives whole, and the connection is used again`, async t => {
    const pieces = ['Grü', 'ße', ' 日本', '語']
    const { get, sockets, deadlines } = await startPair(t, async (_, response) => {
      for (const piece of pieces) await new Promise<void>(resolve => response.write(piece, () => resolve()))
      response.end()
    })
    for (let i = 0; i < 2; i++) {
      t.equal((await read(await get())).toString(), pieces.join(''))
      await nextTurn()
    }
    t.equal(sockets.length, 1)
    t.equal(deadlines.size, 0, 'no deadline is left behind')
  })

  t.test(`${name}: an empty body ends at once`, async t => {
    const { get } = await startPair(t, (_, response) => { response.writeHead(200).end() })
    t.equal((await read(await get())).length, 0)
  })

  t.test(`${name}: a connection that breaks in the body fails after what came`, async t => {
    const { get } = await startPair(t, (_, response) => {
      response.writeHead(200, { 'content-length': '10' })
      response.write('12345', () => response.destroy())
    })
    t.match(await rejection(read(await get())), { name: 'UpstreamError', kind: 'network', sent: 'yes' })
  })

  t.test(`${name}: an abort in the body ends the upstream's connection`, async t => {
    const closed = Promise.withResolvers<void>()
    const { get, deadlines } = await startPair(t, (_, response) => {
      response.once('close', () => closed.resolve())
      response.write('begun')
    })
    const leaving = new AbortController()
    const reading = rejection(read(await get(leaving.signal)))
    leaving.abort()
    t.match(await reading, { kind: 'aborted' })
    await closed.promise
    t.equal(deadlines.size, 0)
  })

  t.test(`${name}: silence in the body is a timeout`, async t => {
    const { get } = await startPair(t, (_, response) => { response.write('begun') }, { idleMs: 40 })
    t.match(await rejection(read(await get())), {
      kind: 'timeout', sent: 'maybe', message: 'The provider sent nothing for 40 ms.'
    })
  })
}

t.test('a body longer than the limit is given up, and its connection with it', async t => {
  const closed = Promise.withResolvers<void>()
  const { get } = await startPair(t, (_, response) => {
    response.once('close', () => closed.resolve())
    pour(response)
  })
  const failure = await rejection((await get()).read(100_000))
  t.match(failure, { kind: 'bad_reply', sent: 'yes', message: 'The answer is longer than 100000 bytes.' })
  await closed.promise
  const small = await startPair(t, (_, response) => { response.end('x'.repeat(101)) })
  t.match(await rejection((await small.get()).read(100)), { message: 'The answer is longer than 100 bytes.' })
  t.equal((await (await small.get()).read(101)).length, 101)
})

t.test('a sink that is full gets nothing until it is resumed', async t => {
  const total = 4 * 1024 * 1024
  const { get } = await startPair(t, (_, response) => { response.end(Buffer.alloc(total, 'x')) })
  const exchange = await get()
  let isFull = false
  let chunks = 0
  let late = 0
  const body = await pipe(exchange, () => {
    chunks += 1
    if (isFull) late += 1
    isFull = true
    setImmediate(() => {
      isFull = false
      exchange.resume()
    })
    return false
  })
  t.equal(body.length, total)
  t.ok(chunks > 4)
  t.ok(late <= 1, 'but for the one that was being read when the sink came')
})

t.test('a pause of the reader is no silence of the upstream', async t => {
  const total = 2 * 1024 * 1024
  const whole = (_: unknown, response: ServerResponse): void => { response.end(Buffer.alloc(total)) }
  const { get } = await startPair(t, whole, { idleMs: 2_000 })
  const exchange = await get()
  let bytes = 0
  for await (const chunk of exchange) {
    if (bytes === 0) await new Promise(resolve => setTimeout(resolve, 2_500))
    bytes += chunk.length
  }
  t.equal(bytes, total)
})

t.test('a request that was aborted before it was sent reaches no server', async t => {
  let requests = 0
  const { get, deadlines } = await startPair(t, (_, response) => {
    requests += 1
    response.end()
  })
  t.match(await rejection(get(AbortSignal.abort())), { kind: 'aborted' })
  t.equal(deadlines.size, 0)
  await (await get()).read(0)
  t.equal(requests, 1)
})

t.test('a request that is aborted while all connections are busy was not sent', async t => {
  const received: IncomingMessage[] = []
  const { get } = await startPair(t, request => { received.push(request) })
  const busy = Array.from({ length: 4 }, () => new AbortController())
  const answers = busy.map(({ signal }) => rejection(get(signal)))
  const waiting = new AbortController()
  const waited = rejection(get(waiting.signal))
  await until(() => received.length >= 4)
  waiting.abort()
  t.match(await waited, { kind: 'aborted', sent: 'no' })
  for (const one of busy) one.abort()
  for (const answer of answers) t.match(await answer, { kind: 'aborted', sent: 'maybe' })
})

t.test('an upstream that says nothing, or never ends, is a timeout', async t => {
  const silent = await startPair(t, () => {}, { firstByteMs: 40 })
  t.match(await rejection(silent.get()), {
    kind: 'timeout', sent: 'maybe', message: 'The provider sent no answer within 40 ms.'
  })
  const endless = await startPair(t, (_, response) => {
    const more = () => { if (!response.destroyed) response.write('x', () => setTimeout(more, 5)) }
    more()
  }, { totalMs: 120 })
  t.match(await rejection((await endless.get()).read(maxBytes)), {
    kind: 'timeout', message: 'The provider did not finish within 120 ms.'
  })
})

t.test('an error says whether the request was sent', async t => {
  const closedPort = connectTo(t, 1)
  t.match(await rejection(closedPort.get()), {
    kind: 'network', sent: 'no', message: 'The provider could not be reached (ECONNREFUSED).'
  })
  const reset = await startRaw(t, socket => { socket.resetAndDestroy() })
  t.match(await rejection(reset.get()), { kind: 'network', sent: 'maybe' })
  const garbage = await startRaw(t, socket => { socket.end('this is not HTTP\r\n\r\n') })
  t.match(await rejection(garbage.get()), { kind: 'network', sent: 'maybe' })
})

t.test('a cancelled answer frees its connection', async t => {
  const closed = Promise.withResolvers<void>()
  const { get, deadlines } = await startPair(t, (_, response) => {
    response.once('close', () => closed.resolve())
    response.write('begun')
  })
  const exchange = await get()
  exchange.cancel()
  await closed.promise
  t.match(await rejection(exchange.read(maxBytes)), { kind: 'aborted' })
  t.equal(deadlines.size, 0)
})

t.test('a reader that stops iterating frees the connection', async t => {
  const closed = Promise.withResolvers<void>()
  const { get } = await startPair(t, (_, response) => {
    response.once('close', () => closed.resolve())
    response.write('begun')
  })
  for await (const chunk of await get()) if (chunk.toString() === 'begun') break
  await closed.promise
})

t.test('after finish a little more may come, a flood or a long wait ends the connection', async t => {
  let answer: Handler = () => {}
  const { get, sockets, deadlines } = await startPair(t, (request, response) => answer(request, response))
  const rest = Promise.withResolvers<ServerResponse>()
  answer = (_, response) => { response.write('done', () => rest.resolve(response)) }
  const little = await get()
  await little[Symbol.asyncIterator]().next()
  little.finish()
  const ending = await rest.promise
  ending.end('\n')
  await until(() => deadlines.size === 0)
  await nextTurn()
  answer = (_, response) => { response.end('next') }
  t.equal((await (await get()).read(100)).toString(), 'next')
  t.equal(sockets.length, 1, 'the connection is used again')

  const closed = Promise.withResolvers<void>()
  answer = (_, response) => {
    response.once('close', () => closed.resolve())
    pour(response)
  }
  const flood = await get()
  await flood[Symbol.asyncIterator]().next()
  flood.finish()
  await closed.promise

  const left = Promise.withResolvers<void>()
  answer = (_, response) => {
    response.once('close', () => left.resolve())
    response.write('done')
  }
  const waiting = await get()
  await waiting[Symbol.asyncIterator]().next()
  waiting.finish()
  await left.promise
})

t.test('closing waits for the answers under way', async t => {
  const arrived = Promise.withResolvers<ServerResponse>()
  const { connection, get } = await startPair(t, (_, response) => {
    response.write('a')
    arrived.resolve(response)
  })
  const exchange = await get()
  const closing = connection.close()
  const response = await arrived.promise
  response.end('b')
  t.equal((await exchange.read(10)).toString(), 'ab')
  await closing
  t.match(await rejection(get()), { kind: 'network', sent: 'no' })
})

const text = 'Grüße, 日本語. '.repeat(5000)
const encoders: Record<string, (data: Buffer) => Buffer> = {
  gzip: data => gzipSync(data),
  'X-GZIP': data => gzipSync(data),
  deflate: data => deflateSync(data),
  br: data => brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  zstd: data => zstdCompressSync(data)
}

for (const [encoding, encode] of Object.entries(encoders)) {
  t.test(`${encoding}: a compressed body is decoded, also of an error`, async t => {
    const bytes = encode(Buffer.from(text))
    let status = 200
    const { get, sockets, deadlines } = await startPair(t, (_, response) => {
      response.writeHead(status, { 'content-encoding': encoding })
      for (let at = 0; at < bytes.length; at += 50) response.write(bytes.subarray(at, at + 50))
      response.end()
    })
    for (const [name, read] of Object.entries(readers)) {
      t.equal((await read(await get())).toString(), text, name)
      await nextTurn()
    }
    status = 400
    t.equal((await (await get()).read(maxBytes)).toString(), text)
    t.equal(sockets.length, 1)
    t.equal(deadlines.size, 0)
  })

  t.test(`${encoding}: broken and truncated data is a bad reply`, async t => {
    const bytes = encode(Buffer.from(text))
    let body: Buffer = Buffer.alloc(0)
    const { get, deadlines } = await startPair(t, (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(body)
    })
    const message = 'The provider\'s compressed answer is broken.'
    for (const [name, read] of Object.entries(readers)) {
      body = Buffer.from('this is not compressed')
      t.match(await rejection(read(await get())), { kind: 'bad_reply', sent: 'yes', message }, `${name}, broken`)
      body = bytes.subarray(0, bytes.length - 12)
      t.match(await rejection(read(await get())), { kind: 'bad_reply', sent: 'yes', message }, `${name}, truncated`)
    }
    t.equal(deadlines.size, 0)
  })

  t.test(`${encoding}: the limit is of the decoded bytes`, async t => {
    const bomb = encode(Buffer.alloc(32 * 1024 * 1024))
    const { get } = await startPair(t, (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end(bomb)
    })
    t.match(await rejection((await get()).read(100_000)), {
      kind: 'bad_reply', message: 'The answer is longer than 100000 bytes.'
    })
  })
}

t.test('a compressed stream arrives event by event', async t => {
  const next: (() => void)[] = []
  const { get } = await startPair(t, (_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    const gzip = createGzip()
    gzip.pipe(response)
    let events = 0
    const write = () => {
      if (events++ === 3) return gzip.end()
      gzip.write(`data: ${events}\n\n`)
      gzip.flush()
    }
    next.push(write)
    write()
  })
  const exchange = await get()
  const seen: string[] = []
  for await (const chunk of exchange) {
    seen.push(chunk.toString())
    next[0]?.()
  }
  t.same(seen, ['data: 1\n\n', 'data: 2\n\n', 'data: 3\n\n'])
})

t.test('a full sink stops a compressed body too', async t => {
  const body = gzipSync(Buffer.alloc(8 * 1024 * 1024, 'x'))
  const { get } = await startPair(t, (_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(body)
  })
  const exchange = await get()
  let isFull = false
  const bytes = await pipe(exchange, () => {
    t.notOk(isFull)
    isFull = true
    setImmediate(() => {
      isFull = false
      exchange.resume()
    })
    return false
  })
  t.equal(bytes.length, 8 * 1024 * 1024)
})

t.test('an unknown content encoding is a bad reply', async t => {
  const { get } = await startPair(t, (_, response) => {
    response.writeHead(200, { 'content-encoding': 'rot13' }).end('x')
  })
  t.match(await rejection(get()), {
    kind: 'bad_reply', sent: 'yes', message: 'The provider used the content encoding rot13.'
  })
})

t.test('a content encoding that says there is none is none', async t => {
  for (const encoding of ['identity', 'none', 'NONE', '']) {
    const { get } = await startPair(t, (_, response) => {
      response.writeHead(200, { 'content-encoding': encoding }).end('x')
    })
    t.equal((await (await get()).read(10)).toString(), 'x', encoding)
  }
})
