import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import type { Test } from 'tap'
import {
  chunks, completion, errorsByStatus, finish, head, reply, retryAfter, scripts, send, sequence, startUpstream
} from './upstream.ts'
import type { Script, Upstream, UpstreamRequest } from './upstream.ts'

const chatPath = '/v1/chat/completions'

t.test('without a script it answers as api.openai.com does', async (t) => {
  const upstream = await started(t)

  t.test('a chat completion has the recorded keys and no others', async (t) => {
    const { status, headers, body } = await ask(upstream, { model: 'gpt-5-nano' })
    const answer = JSON.parse(body)
    t.equal(status, 200)
    t.same(Object.keys(answer), [
      'id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier', 'system_fingerprint'
    ])
    t.equal(answer.model, 'gpt-5-nano-2025-08-07', 'the model is dated')
    t.equal(answer.system_fingerprint, null)
    t.same(Object.keys(answer.choices[0]), ['index', 'message', 'finish_reason'], 'there is no logprobs key')
    t.match(answer.choices[0].message, { role: 'assistant', refusal: null, annotations: [] })
    t.equal(headers.size, 24, 'it sends 24 headers')
    t.match(headers.get('x-request-id'), /^req_[0-9a-f]{32}$/)
    t.match(headers.get('x-ratelimit-reset-requests'), /ms$/)
  })

  t.test('a stream opens with the role and closes with [DONE]', async (t) => {
    const { headers, body } = await ask(upstream, { stream: true })
    const [first, ...rest] = dataOf(body)
    t.equal(headers.get('content-type'), 'text/event-stream; charset=utf-8')
    t.same(JSON.parse(first ?? '').choices, [
      { index: 0, delta: { role: 'assistant', content: '', refusal: null }, finish_reason: null }
    ])
    t.equal(rest.at(-1), '[DONE]')
    t.same(JSON.parse(rest.at(-2) ?? '').choices, [{ index: 0, delta: {}, finish_reason: 'stop' }])
    t.notMatch(body, /"usage"/)
    t.match(body, /"obfuscation"/)
  })

  t.test('a stream has usage if it was requested', async (t) => {
    const options = { include_usage: true, include_obfuscation: false }
    const { body } = await ask(upstream, { stream: true, stream_options: options })
    const parsed = chunksOf(body)
    t.ok(parsed.slice(0, -1).every((chunk) => chunk.usage === null), 'null on each chunk')
    t.match(parsed.at(-1), { choices: [], usage: { prompt_tokens: 8, total_tokens: 385 } })
    t.notMatch(body, /obfuscation/)
  })

  t.test('the pieces of a tool call add up to its arguments', async (t) => {
    const weather = { name: 'get_weather', arguments: '{"location":"Boston"}' }
    upstream.script(reply({ tools: [weather] }), reply({ tools: [weather] }))
    const whole = JSON.parse((await ask(upstream)).body).choices[0]
    t.match(whole, { message: { content: null, tool_calls: [{ function: weather }] }, finish_reason: 'tool_calls' })
    const calls = chunksOf((await ask(upstream, { stream: true })).body)
      .flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? [])
    t.match(calls[0], { index: 0, id: /^call_/, function: { name: 'get_weather', arguments: '' } })
    t.equal(calls.map((call) => call.function.arguments).join(''), weather.arguments)
  })

  t.test('a legacy completion has choices for each prompt', async (t) => {
    const whole = JSON.parse((await ask(upstream, { prompt: ['a', 'b'], n: 2 }, '/v1/completions')).body)
    t.equal(whole.object, 'text_completion')
    t.same(whole.choices.map((choice: { index: number }) => choice.index), [0, 1, 2, 3])
    const streamed = chunksOf((await ask(upstream, { prompt: 'a', stream: true }, '/v1/completions')).body)
    t.equal(streamed.at(-1)?.choices[0].finish_reason, 'stop', 'the last text chunk has the finish reason')
    t.equal(streamed.map((chunk) => chunk.choices[0].text).join(''), whole.choices[0].text)
  })

  t.test('models are listed and other URLs refused', async (t) => {
    const list = JSON.parse((await speak(upstream, 'GET /v1/models HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).body)
    t.match(list, { object: 'list', data: [{ id: 'gpt-5-nano', object: 'model', owned_by: 'system' }] })
    const { status, body } = await ask(upstream, {}, '/v1/nothing')
    t.equal(status, 404)
    t.match(JSON.parse(body).error.message, 'Invalid URL (POST /v1/nothing)')
  })
})

t.test('a wrong key is refused and consumes no script', async (t) => {
  const upstream = await startUpstream({ apiKey: 'sk-right' })
  t.teardown(() => upstream.close())
  upstream.script(scripts.empty(503))
  const { status, body } = await ask(upstream, {}, chatPath, 'authorization: Bearer sk-wrong\r\n')
  t.equal(status, 401)
  t.equal(JSON.parse(body).error.code, 'invalid_api_key')
  t.equal((await ask(upstream, {}, chatPath, 'authorization: Bearer sk-right\r\n')).status, 503)
})

t.test('requests are recorded', async (t) => {
  const upstream = await started(t)
  const coming = upstream.nextRequest()
  await ask(upstream, { model: 'é' }, `${chatPath}?api-version=v1`, 'x-extra: 1\r\n')
  const request = await coming
  t.match(request, { number: 0, method: 'POST', path: `${chatPath}?api-version=v1`, headers: { 'x-extra': '1' } })
  t.equal(request.bytes.toString(), '{"model":"é"}', 'as raw bytes')
  t.same(request.body, { model: 'é' }, 'and parsed')
  await request.closed
  t.equal(request.aborted, false)
  t.same(completion(request).model, 'é-2025-08-07', 'its answer can be made again')

  await ask(upstream, 'no json')
  t.equal((await upstream.nextRequest()).body, null)
  t.equal(upstream.requests.length, 2)
})

t.test('a disconnected client is noticed', async (t) => {
  const upstream = await started(t)
  upstream.script(scripts.stalledAfter(2))
  const socket = connectTo(upstream)
  socket.write(post(chatPath, { stream: true }))
  const request = await upstream.nextRequest()
  await once(socket, 'data')
  socket.destroy()
  await request.closed
  t.equal(request.aborted, true, 'while it waits for the answer')

  upstream.script(scripts.empty(503))
  const uploader = connectTo(upstream)
  uploader.write(post(chatPath, { model: 'x' }).slice(0, -3), () => uploader.destroy())
  const cut = await upstream.nextRequest()
  await cut.closed
  t.equal(cut.aborted, true, 'while it uploads')
  t.equal(cut.body, null)
  t.equal((await ask(upstream)).status, 503, 'an upload cut short uses up no script')
})

t.test('queued scripts run in order, then the default one', async (t) => {
  const upstream = await started(t)
  upstream.script(scripts.empty(500), scripts.empty(502))
  upstream.always(scripts.empty(503))
  const statuses = [await ask(upstream), await ask(upstream), await ask(upstream), await ask(upstream)]
  t.same(statuses.map(({ status }) => status), [500, 502, 503, 503])
})

t.test('a script that fails or never ends makes close fail', async (t) => {
  const upstream = await startUpstream()
  upstream.script(() => { throw new Error('broken script') }, head())
  await ask(upstream)
  await ask(upstream)
  await t.rejects(upstream.close(), { errors: [{ message: 'broken script' }, { message: /without an end/ }] })
})

t.test('closing ends open connections', async (t) => {
  const upstream = await startUpstream()
  upstream.script(scripts.silent())
  const socket = connectTo(upstream)
  socket.write(post(chatPath, {}))
  await upstream.nextRequest()
  t.equal(upstream.connections, 1)
  await Promise.all([once(socket, 'close'), upstream.close()])
  t.equal(upstream.connections, 0)
})

t.test('bodies are cut into packets', async (t) => {
  const upstream = await started(t)
  const plain = (await ask(upstream, { stream: true })).body
  const cases: [string, Script, (pieces: Buffer[]) => boolean][] = [
    ['one byte at a time', scripts.slowBytes(), (pieces) => pieces.every(({ length }) => length === 1)],
    ['split inside characters', scripts.splitCharacters(), (pieces) => pieces.some(startsInsideCharacter)],
    ['split anywhere', scripts.splitAnywhere(7), (pieces) => pieces.some(endsInsideEvent)],
    ['all events in one', scripts.onePacket(), (pieces) => pieces.length === 1]
  ]
  for (const [name, script, isCutSo] of cases) {
    upstream.script(script)
    const { pieces, packets } = await ask(upstream, { stream: true })
    t.ok(isCutSo(pieces), name)
    t.equal(withoutIds(Buffer.concat(pieces).toString()), withoutIds(plain), `${name}, the same text`)
    t.ok(packets >= pieces.length, `${name}, ${pieces.length} pieces in ${packets} packets`)
  }
  const lengths: number[][] = []
  for (const seed of [7, 7, 8]) {
    upstream.script(scripts.splitAnywhere(seed))
    const { pieces } = await ask(upstream, { stream: true })
    lengths.push(pieces.map(({ length }) => length))
  }
  t.same(lengths[0], lengths[1], 'a seed always cuts at the same places')
  t.notSame(lengths[0], lengths[2], 'another seed elsewhere')
})

t.test('event streams in unusual formats', async (t) => {
  const upstream = await started(t)
  async function streamed (script: Script) {
    upstream.script(script)
    return await ask(upstream, { stream: true, stream_options: { include_usage: true } })
  }

  t.match((await streamed(scripts.lineEnds('\r\n'))).body, /^data: [^\n]+\r\n\r\ndata: /)
  t.match((await streamed(scripts.lineEnds('\r'))).body, /^data: [^\n]+\r\rdata: /)
  t.match((await streamed(scripts.comments())).body, /^: keep-alive\n\ndata: .+\n\n: keep-alive\n\n/)
  t.match(chunksOf((await streamed(scripts.azure())).body), [{ choices: [], id: '' }, { choices: [{ index: 0 }] }])
  t.equal((await streamed(scripts.wrongContentType())).headers.get('content-type'), 'text/html')
  t.notMatch((await streamed(scripts.noUsage())).body, /usage/)
  t.match(chunksOf((await streamed(scripts.groqUsage())).body).at(-1), {
    usage: null, x_groq: { usage: { total_tokens: 385 } }
  })
  t.match(chunksOf((await streamed(scripts.mergedUsage())).body).at(-1), {
    choices: [{ finish_reason: 'stop' }], usage: { total_tokens: 385 }
  })
  t.equal(chunksOf((await streamed(scripts.eosFinish())).body).at(-2)?.choices[0].finish_reason, 'eos')
  t.notMatch((await streamed(scripts.noDone())).body, /DONE/)
  t.match((await streamed(scripts.dataAfterDone())).body, /\[DONE\]\n\ndata: \{/)
  t.notMatch((await streamed(scripts.noFinish())).body, /DONE|"stop"|total_tokens/)
  t.match(dataOf((await streamed(scripts.errorAfter(0))).body), [/^\{"error"/], 'an error as the first event')
  t.equal(dataOf((await streamed(scripts.errorAfter(3))).body).length, 4, 'an error in mid-stream')
  t.match(chunksOf((await streamed(scripts.errorChunkAfter(1))).body).at(-1), { error: { code: 502 } })
  t.equal(dataOf((await streamed(scripts.malformedEvent(2))).body)[2], '{"id":')
  const gzipped = await streamed(scripts.gzip())
  t.equal(gzipped.headers.get('content-encoding'), 'gzip')
  t.match(gunzipSync(Buffer.concat(gzipped.pieces)).toString(), /DONE/)
  t.equal((await streamed(scripts.giantEvent(2))).pieces.some(({ length }) => length > 2 ** 21), true)
})

t.test('JSON answers in unusual formats', async (t) => {
  const upstream = await started(t)
  async function answered (script: Script) {
    upstream.script(script)
    return await ask(upstream)
  }
  t.notOk('usage' in JSON.parse((await answered(scripts.noUsage())).body))
  const malformed = await answered(scripts.malformedJson())
  t.throws(() => JSON.parse(malformed.body), SyntaxError)
  t.match(JSON.parse((await answered(scripts.errorIn200())).body), { error: { type: 'server_error' } })
  const gzipped = await answered(scripts.gzip())
  t.equal(Number(gzipped.headers.get('content-length')), gzipped.raw.length)
  t.match(JSON.parse(gunzipSync(gzipped.raw).toString()), { object: 'chat.completion' })
  const slow = await answered(scripts.slowBytes())
  t.same(JSON.parse(slow.body), completion(lastRequest(upstream)))
})

t.test('errors have the status and body of OpenAI', async (t) => {
  const upstream = await started(t)
  for (const status of [400, 401, 403, 404, 413, 429, 500, 502, 503, 529]) {
    upstream.script(scripts.refused(status), scripts.html(status), scripts.empty(status))
    const json = await ask(upstream, { stream: true })
    t.same([json.status, JSON.parse(json.body).error], [status, errorsByStatus[status]], `${status} as JSON`)
    const html = await ask(upstream)
    t.same([html.status, html.headers.get('content-type')], [status, 'text/html'], `${status} as HTML`)
    const empty = await ask(upstream)
    t.same([empty.status, empty.body], [status, ''], `${status} without a body`)
  }
  const date = new Date('2026-11-21T10:00:00Z')
  upstream.script(...[retryAfter.seconds(7), retryAfter.ms(250), retryAfter.date(date)].map((headers) => {
    return scripts.refused(429, {}, headers)
  }))
  t.equal((await ask(upstream)).headers.get('retry-after'), '7')
  t.equal((await ask(upstream)).headers.get('retry-after-ms'), '250')
  t.equal((await ask(upstream)).headers.get('retry-after'), 'Sat, 21 Nov 2026 10:00:00 GMT')
  upstream.script(scripts.redirected('http://127.0.0.1:1/'))
  const redirect = await ask(upstream)
  t.same([redirect.status, redirect.headers.get('location')], [307, 'http://127.0.0.1:1/'])
})

t.test('connections that end early', async (t) => {
  const upstream = await started(t)
  async function broken (script: Script, body = {}) {
    upstream.script(script)
    return await ask(upstream, body)
  }
  t.match(await broken(scripts.resetBeforeHeaders()), { fault: 'ECONNRESET', status: null })
  t.match(await broken(scripts.resetAfterHeaders()), { fault: 'ECONNRESET', status: 200, body: '' })
  const midStream = await broken(scripts.resetAfter(2), { stream: true })
  t.match(midStream, { fault: 'ECONNRESET', complete: false })
  t.equal(dataOf(midStream.body).length, 2)
  const truncated = await broken(scripts.truncatedJson())
  t.match(truncated, { fault: null, complete: false }, 'a truncated body ends in good order')
  t.ok(truncated.raw.length < Number(truncated.headers.get('content-length')))
  t.equal(upstream.requests.some(({ aborted }) => aborted), false, 'none of this is the client’s doing')

  upstream.script(scripts.halfClosedAfter(1))
  const socket = connectTo(upstream, { allowHalfOpen: true })
  socket.write(post(chatPath, { stream: true }))
  socket.resume()
  await once(socket, 'end')
  t.equal(upstream.connections, 1, 'a half-closed connection still listens')
  socket.end()
  await once(socket, 'close')

  upstream.always(scripts.closedWhenReused())
  const before = upstream.requests.length
  const kept = connectTo(upstream)
  kept.write(post(chatPath, {}))
  await once(kept, 'data')
  kept.resume().write(post(chatPath, {}))
  await once(kept, 'close')
  const onKept = upstream.requests.slice(before)
  t.same(onKept.map(({ reused }) => reused), [false, true])
  t.ok(onKept[0] && onKept[0].bytesSent > 0, 'the first request on a connection is answered')
  t.equal(onKept[1]?.bytesSent, 0, 'the second one gets no byte')
})

t.test('oversized answers', async (t) => {
  const upstream = await started(t)
  for (const name of ['endless', 'endlessEvent', 'pingFlood'] as const) {
    upstream.script(scripts[name]())
    const socket = connectTo(upstream)
    socket.write(post(chatPath, {}))
    const request = await upstream.nextRequest()
    await bytesRead(socket, 10_000)
    socket.destroy()
    await request.closed
    t.ok(request.bytesSent > 3_000, `${name} counted ${request.bytesSent} bytes until the client left`)
    t.equal(request.aborted, true, name)
  }
})

t.test('slow and silent answers', async (t) => {
  const upstream = await started(t)
  let open = () => {}
  upstream.script(scripts.heldUntil(new Promise<void>((resolve) => { open = resolve })))
  const held = ask(upstream)
  await upstream.nextRequest()
  open()
  t.equal((await held).status, 200, 'a held answer comes when it is let go')

  upstream.script(scripts.slowHeaders(50))
  const askedAt = performance.now()
  await ask(upstream)
  t.ok(performance.now() - askedAt >= 49, 'slow headers take their time')

  upstream.script(scripts.stalledAfter(0))
  const socket = connectTo(upstream)
  socket.write(post(chatPath, { stream: true }))
  const [packet] = await once(socket, 'data')
  t.match(String(packet), /\r\n\r\n$/, 'headers, then silence')
  socket.destroy()
})

t.test('custom scripts are sequences of steps', async (t) => {
  const upstream = await started(t)
  const letters = send([Buffer.from('a'), Buffer.from('b')])
  upstream.script(sequence(head({ 'content-type': 'text/plain' }, 202), letters, finish))
  t.match(await ask(upstream), { status: 202, body: 'ab', complete: true })
  upstream.script(reply({ text: ['Grüße', ' 👋'] }))
  t.match((await ask(upstream, { stream: true })).body, /"Grüße".*" 👋"/s)
  t.equal(chunks(lastRequest(upstream), { text: '' }).length, 2, 'an empty text has no text chunks')
})

async function started (t: Test): Promise<Upstream> {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  return upstream
}

function lastRequest (upstream: Upstream): UpstreamRequest {
  const request = upstream.requests.at(-1)
  if (!request) throw new Error('there was no request')
  return request
}

/** Sends one request on its own connection and reads raw bytes until the connection closes. */
function ask (upstream: Upstream, body: unknown = {}, path = chatPath, headers = ''): Promise<Wire> {
  return speak(upstream, post(path, body, `connection: close\r\n${headers}`))
}

function post (path: string, body: unknown, headers = ''): string {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(text)}\r\n${headers}\r\n${text}`
}

function connectTo (upstream: Upstream, options: { allowHalfOpen?: boolean } = {}): Socket {
  return connect({ host: '127.0.0.1', port: Number(new URL(upstream.url).port), ...options })
}

interface Wire {
  status: number | null
  headers: Map<string, string>
  /** The body without chunk framing. */
  raw: Buffer
  body: string
  /** The chunks as the HTTP framing shows them. */
  pieces: Buffer[]
  /** How many reads the socket needed. */
  packets: number
  /** Whether the body is complete according to its framing. */
  complete: boolean
  /** The connection's error code. */
  fault: string | null
}

async function speak (upstream: Upstream, request: string): Promise<Wire> {
  const socket = connectTo(upstream)
  const packets: Buffer[] = []
  let fault: string | null = null
  socket.on('data', (packet: Buffer) => packets.push(packet))
  socket.on('error', (error: NodeJS.ErrnoException) => { fault = error.code ?? error.message })
  socket.write(request)
  await new Promise((resolve) => socket.once('close', resolve))
  return { ...wireOf(Buffer.concat(packets)), packets: packets.length, fault }
}

function wireOf (bytes: Buffer): Omit<Wire, 'packets' | 'fault'> {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) {
    return { status: null, headers: new Map(), raw: bytes, body: '', pieces: [], complete: false }
  }
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString().split('\r\n')
  const headers = new Map(lines.map((line) => {
    const [name = '', ...value] = line.split(': ')
    return [name.toLowerCase(), value.join(': ')]
  }))
  const rest = bytes.subarray(headEnd + 4)
  const { pieces, complete } = headers.get('transfer-encoding') === 'chunked'
    ? unchunked(rest)
    : { pieces: [rest], complete: rest.length === Number(headers.get('content-length')) }
  const raw = Buffer.concat(pieces)
  return { status: Number(statusLine.split(' ')[1]), headers, raw, body: raw.toString(), pieces, complete }
}

function unchunked (bytes: Buffer): { pieces: Buffer[], complete: boolean } {
  const pieces: Buffer[] = []
  let at = 0
  while (at < bytes.length) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const length = parseInt(bytes.subarray(at, lineEnd).toString(), 16)
    if (length === 0) return { pieces, complete: true }
    pieces.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + length))
    at = lineEnd + 2 + length + 2
  }
  return { pieces, complete: false }
}

function dataOf (body: string): string[] {
  return body.split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice('data: '.length))
}

function chunksOf (body: string) {
  return dataOf(body).filter((data) => data !== '[DONE]').map((data) => JSON.parse(data))
}

function withoutIds (body: string): string {
  return body.replaceAll(/"id":"[^"]*"/g, '')
}

function startsInsideCharacter (piece: Buffer): boolean {
  return piece.length > 0 && (piece[0]! & 0xc0) === 0x80
}

function endsInsideEvent (piece: Buffer): boolean {
  return !piece.toString().endsWith('\n\n')
}

async function bytesRead (socket: Socket, bytes: number): Promise<void> {
  while (socket.bytesRead < bytes) await once(socket, 'data')
}
