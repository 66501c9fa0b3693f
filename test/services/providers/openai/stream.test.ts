import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { Deadlines } from '../../../../services/shared/timers.ts'
import { createConnection } from '../../../../services/providers/upstream/connection.ts'
import { maxEventBytes } from '../../../../services/providers/upstream/sse.ts'
import type { EventStream } from '../../../../services/providers/provider.ts'
import { createReport } from '../../../../services/providers/report.ts'
import { dialects } from '../../../../services/providers/openai/dialects.ts'
import { OutputGuard } from '../../../../services/providers/openai/output-guard.ts'
import type { StreamGuard } from '../../../../services/providers/openai/stream-editor.ts'
import { relayStream } from '../../../../services/providers/openai/stream.ts'
import { rejection } from '../../../helpers/thrown.ts'
import { keepOpen } from '../../../helpers/keep-open.ts'
import { generous } from '../../../helpers/timeouts.ts'
import { until } from '../../../helpers/until.ts'

const timeouts = generous

/** What a server writes: its parts one after the other, each in a packet of its own. */
type Body = Iterable<string | Buffer>

interface RelayOptions {
  dialect?: string
  hideUsage?: boolean
  signal?: AbortSignal
  isOpen?: boolean
  guard?: StreamGuard
}

/** A server that sends bodies as event streams, and a relay of them. */
async function start (t: Test) {
  let current: { body: Body, isOpen: boolean } = { body: [], isOpen: false }
  const sockets: Socket[] = []
  const closed = Promise.withResolvers<void>()
  const server = createServer(keepOpen, async (_, response) => {
    response.once('close', () => { if (!response.writableFinished) closed.resolve() })
    const { body, isOpen } = current
    for (const part of body) if (!await write(response, part)) return
    if (!isOpen) response.end()
  })
  server.on('connection', socket => { sockets.push(socket) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const deadlines = new Deadlines(5)
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connection = createConnection({ baseUrl, timeouts, maxConnections: 4, deadlines })
  t.teardown(() => connection.close())

  async function relay (body: Body, options: RelayOptions = {}) {
    const { dialect: name = 'compatible', hideUsage = false, isOpen = false } = options
    const { signal = new AbortController().signal } = options
    const dialect = dialects[name]
    if (dialect === undefined) throw new Error(name)
    current = { body, isOpen }
    const exchange = await connection.send({ method: 'GET', path: '/', headers: {}, signal })
    const report = createReport()
    const fallback = { id: 'chatcmpl-0', object: 'chat.completion.chunk', created: 0, model: 'm' }
    const { guard } = options
    const form = { dialect, secret: null, hideUsage, fallback, choices: 1, guard }
    const stream = await relayStream(exchange, report, form)
    if (stream instanceof Uint8Array) throw new Error('no stream')
    return { report, stream }
  }
  return { relay, sockets, deadlines, closed: closed.promise }
}

/** Resolves with whether the client is still there. */
async function write (response: ServerResponse, part: string | Buffer): Promise<boolean> {
  await new Promise<void>(resolve => response.write(part, () => resolve()))
  await nextTurn()
  return !response.destroyed
}

/** Resolves when the upstream's connection is free again. */
async function settled (deadlines: Deadlines): Promise<void> {
  await until(() => deadlines.size === 0)
  await nextTurn()
}

/** The two ways to read a stream; each collects into `pieces`. */
const readers: Record<string, (stream: EventStream, pieces?: Buffer[]) => Promise<string>> = {
  async iterate (stream, pieces = []) {
    for await (const piece of stream) pieces.push(Buffer.from(piece))
    return Buffer.concat(pieces).toString()
  },
  async pipe (stream, pieces = []) {
    const write = (piece: Uint8Array) => pieces.push(Buffer.from(piece)) > 0
    await stream.pipeTo({ write, drained: () => Promise.reject(new Error('never full')) })
    return Buffer.concat(pieces).toString()
  }
}

const event = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`
const head = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'gpt-5-nano' }
const usage = { prompt_tokens: 8, completion_tokens: 3, total_tokens: 11 }
const counted = { prompt: 8, completion: 3 }
const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
  event({ ...head, choices: [{ index: 0, delta, finish_reason: finish }], ...more })
const text = (content: string) => chunk({ content })
const done = 'data: [DONE]\n\n'
/** The chunk with which a choice begins. */
const first = chunk({ role: 'assistant', content: 'a' })
const opening = chunk({ role: 'assistant', content: '' })
const whole = [opening, text('Grüße, '), text('日本語'), text(' 👩‍👩‍👧‍👦'), chunk({}, 'stop'), event({ ...head, choices: [], usage }), done]

for (const [name, read] of Object.entries(readers)) {
  t.test(`${name}: more text than is held ends the stream once, and after the end it does not count`, async t => {
    const { relay } = await start(t)
    const long = text('word '.repeat(500))
    const relayed = async (body: string) => {
      const guard = { output: new OutputGuard('by-text', 16, 1), estimate: async () => ({ prompt: 1, completion: 16 }) }
      const { stream, report } = await relay([body], { guard })
      const events = (await read(stream)).split('\n\n').filter(one => one !== '').map(one => one.slice(6))
      return { events, isCut: report.isCut }
    }
    const cut = await relayed([opening, text('a'), long, chunk({}, 'stop'), done].join(''))
    t.ok(cut.isCut)
    t.equal(cut.events.indexOf('[DONE]'), cut.events.length - 1)
    t.match(cut.events.at(-3), /"finish_reason":"length"/)
    const ended = await relayed([opening, text('a'), chunk({}, 'stop'), done, long, done].join(''))
    t.notOk(ended.isCut)
    t.equal(ended.events.indexOf('[DONE]'), ended.events.length - 1)
    t.match(ended.events.at(-2), /"finish_reason":"stop"/)
  })

  t.test(`${name}: a stream passes as it is, wherever the network cuts it`, async t => {
    const { relay, sockets, deadlines } = await start(t)
    const bytes = Buffer.from(whole.join(''))
    const bodies: Record<string, Body> = {
      'event by event': whole,
      'in one packet': [bytes],
      'byte by byte': Array.from(bytes, byte => Buffer.of(byte)),
      'every 7 bytes': Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7)),
      'with CRLF': [whole.join('').replaceAll('\n', '\r\n')]
    }
    for (const [how, body] of Object.entries(bodies)) {
      const { stream, report } = await relay(body)
      t.equal(await read(stream), whole.join(''), how)
      t.match(report, { usage: counted, model: 'gpt-5-nano' })
      await settled(deadlines)
    }
    t.equal(sockets.length, 1, 'the connection is used again each time')
  })

  t.test(`${name}: usage that the client did not ask for is hidden in every form, and reported`, async t => {
    const { relay } = await start(t)
    const last = event({ ...head, choices: [], usage })
    const none = { usage: null }
    const nulls = [chunk({ role: 'assistant', content: 'a' }, null, none), chunk({ content: 'b' }, null, none)]
    const stopped = chunk({}, 'stop', none)
    const spaced = chunk({ content: 'c' }).replace('"choices"', '"usage" : null, "choices"')
    /** The stream, and what the client gets that has asked for usage, if it differs. */
    const forms: Record<string, [string[], string[]?]> = {
      'a chunk of its own': [whole],
      'with the finish reason': [[first, chunk({}, 'stop', { usage }), done], [first, stopped, last, done]],
      'before the finish reason': [[first, last, chunk({}, 'stop'), done], [first, chunk({}, 'stop'), last, done]],
      'with every chunk': [
        [first, chunk({ content: 'b' }, null, { usage: { ...usage, total_tokens: 9 } }), chunk({}, 'stop', { usage }), done],
        [first, chunk({ content: 'b' }, null, none), stopped, last, done]
      ],
      'without choices, twice': [[first, chunk({}, 'stop'), last, last, done], [first, chunk({}, 'stop'), last, done]],
      'without a list of choices': [
        [first, chunk({}, 'stop'), event({ ...head, usage }), done],
        [first, chunk({}, 'stop'), last, done]
      ],
      'without a total': [
        [first, chunk({}, 'stop'), event({ ...head, choices: [], usage: { prompt_tokens: 8, completion_tokens: 3 } }), done],
        [first, chunk({}, 'stop'), last, done]
      ],
      'null everywhere else': [[...nulls, stopped, last, done]],
      'null with a space': [[...nulls, spaced, spaced, stopped, last, done]]
    }
    for (const [how, [body, expected = body]] of Object.entries(forms)) {
      const hidden = await relay(body, { hideUsage: true })
      const seen = await read(hidden.stream)
      t.notMatch(seen, 'usage', how)
      t.match(seen, /data: \[DONE\]\n\n$/)
      for (const line of seen.split('\n\n').slice(0, -2)) t.ok(JSON.parse(line.slice(6)), 'the JSON is whole')
      t.match(hidden.report.usage, counted, how)
      const shown = await relay(body)
      t.equal(await read(shown.stream), expected.join(''), how)
    }
  })

  t.test(`${name}: usage counts what came before it, whatever it comes with`, async t => {
    const { relay } = await start(t)
    const so = (count: number) => ({ usage: { ...usage, completion_tokens: count, total_tokens: 8 + count } })
    interface Report { completion: number | null, isPartial: boolean, after: string }
    const cases: Record<string, [string[], Report]> = {
      'in every chunk': [
        [chunk({ role: 'assistant', content: 'a' }, null, so(1)), chunk({ content: 'b' }, null, so(2)), chunk({}, 'stop', so(2)), done],
        { completion: 2, isPartial: false, after: '' }
      ],
      'in every chunk but the last one': [
        [chunk({ role: 'assistant', content: 'a' }, null, so(1)), chunk({}, 'stop'), done], { completion: 1, isPartial: false, after: '' }
      ],
      'in the first chunk alone': [
        [chunk({ content: '' }, null, so(0)), first, text('b'), chunk({}, 'stop'), done],
        { completion: 0, isPartial: true, after: 'ab' }
      ],
      'as zero until the end': [
        [chunk({ role: 'assistant', content: 'a' }, null, { usage: { prompt_tokens: 0, completion_tokens: 0 } }), text('b')],
        { completion: null, isPartial: false, after: 'ab' }
      ],
      'between the texts of one packet': [
        [first + chunk({ content: 'b' }, null, so(2)) + text('c') + text('d')],
        { completion: 2, isPartial: true, after: 'cd' }
      ],
      'in every chunk, with a choice that goes on': [
        [chunk({ role: 'assistant', content: 'a' }, 'stop', so(1)), event({ ...head, choices: [{ index: 1, delta: { content: 'b' } }] })],
        { completion: 1, isPartial: false, after: 'b' }
      ]
    }
    for (const [how, [body, expected]] of Object.entries(cases)) {
      const { stream, report } = await relay(body)
      await read(stream).catch(() => {})
      const { completion, isPartial } = expected
      t.match(report, { usage: completion === null ? null : { prompt: 8, completion }, isPartial }, how)
      t.equal(report.delivered.text, expected.after, how)
    }
  })

  t.test(`${name}: a stream without [DONE] gets it if it was complete, else it fails`, async t => {
    const { relay } = await start(t)
    const complete = [first, chunk({}, 'stop')]
    t.equal(await read((await relay(complete)).stream), [...complete, done].join(''))
    const unended = [first, chunk({}, 'stop').trimEnd()]
    t.equal(await read((await relay(unended)).stream), [...complete, done].join(''), 'the last event lacks its empty line')
    const pieces: Buffer[] = []
    const { stream, report } = await relay([first, text('b')])
    t.match(await rejection(read(stream, pieces)), {
      name: 'UpstreamError', kind: 'bad_reply', sent: 'yes', message: 'The provider\'s stream ended before it was complete.'
    })
    t.equal(Buffer.concat(pieces).toString(), first + text('b'), 'what came before arrives')
    t.equal(report.delivered.text, 'ab', 'and is known, for an estimate of its usage')
  })

  t.test(`${name}: an error in mid-stream comes after what was said, and ends the connection`, async t => {
    const errors: Record<string, [string, object]> = {
      'an error chunk': [event({ error: { message: 'Busy.', code: 503 } }), { kind: 'overloaded', message: 'Busy.' }],
      'an error event': [`event: error\n${event({ message: 'Slow down.', code: 'rate_limit_exceeded' })}`, { kind: 'rate', message: 'Slow down.' }],
      'no JSON': ['data: {"a"\n\n', { kind: 'bad_reply', message: 'The provider sent an event that is not a JSON object.' }]
    }
    for (const [what, [bad, expected]] of Object.entries(errors)) {
      const { relay, closed } = await start(t)
      const pieces: Buffer[] = []
      // An event that is not JSON is noticed where events are parsed: here, because of its usage.
      const { stream } = await relay([first, what === 'no JSON' ? bad.replace('"a"', '"usage":1') : bad], { isOpen: true })
      t.match(await rejection(read(stream, pieces)), expected, what)
      t.equal(Buffer.concat(pieces).toString(), first, what)
      await closed
    }
  })

  t.test(`${name}: an abort and a broken connection reject`, async t => {
    const { relay } = await start(t)
    const leaving = new AbortController()
    const { stream } = await relay([first], { signal: leaving.signal, isOpen: true })
    const pieces: Buffer[] = []
    const reading = rejection(read(stream, pieces))
    leaving.abort()
    t.match(await reading, { kind: 'aborted' })
    t.equal(Buffer.concat(pieces).toString(), first)
    const other = await start(t)
    const broken = await other.relay([first], { isOpen: true })
    const failing = rejection(read(broken.stream))
    other.sockets[0]?.destroy()
    t.match(await failing, { kind: 'network', sent: 'yes' })
  })

  t.test(`${name}: what follows [DONE] is left out, and the connection is used again`, async t => {
    const { relay, sockets, deadlines } = await start(t)
    for (let i = 0; i < 2; i++) {
      const { stream } = await relay([first, chunk({}, 'stop'), done, ': bye\n\n'])
      t.equal(await read(stream), first + chunk({}, 'stop') + done)
      await settled(deadlines)
    }
    t.equal(sockets.length, 1)
  })

  t.test(`${name}: comments and pings between events are left out, a flood of comments is a failure`, async t => {
    const { relay } = await start(t)
    const ping = 'event: ping\ndata: {"type":"ping"}\n\n'
    const body = [first, ': still there\n\n', ping, `: and here\n${text('b')}`, chunk({}, 'stop'), done]
    t.equal(await read((await relay(body)).stream), [first, text('b'), chunk({}, 'stop'), done].join(''))
    const flood = Array.from({ length: 40 }, () => `: ${'x'.repeat(8 * 1024)}\n\n`)
    t.match(await rejection(read((await relay([first, ...flood])).stream)), {
      kind: 'bad_reply', message: 'The provider sent only comments.'
    })
  })

  t.test(`${name}: an event without end is given up`, async t => {
    const { relay } = await start(t)
    const piece = Buffer.alloc(1024 * 1024, 'x')
    const endless = Array.from({ length: maxEventBytes / piece.length + 2 }, () => piece)
    const { stream } = await relay([first, 'data: ', ...endless])
    t.match(await rejection(read(stream)), { kind: 'bad_reply', message: /event longer than/ })
  })
}

t.test('a failure before the first event rejects at once, so that another provider can be asked', async t => {
  const cases: [Body, object][] = [
    [[event({ error: { message: 'No.', code: 'invalid_api_key' } })], { kind: 'auth' }],
    [[': queued\n\n', event({ error: { message: 'Busy.', code: 529 } })], { kind: 'overloaded' }],
    [['data: nonsense\n\n'], { kind: 'bad_reply' }],
    [[': only a comment\n\n'], { kind: 'bad_reply' }],
    [[], { kind: 'bad_reply' }]
  ]
  for (const [body, expected] of cases) {
    const { relay, deadlines } = await start(t)
    t.match(await rejection(relay(body)), { name: 'UpstreamError', sent: 'yes', ...expected })
    t.equal(deadlines.size, 0, 'nothing is left open')
  }
})

t.test('comments before the first event are dropped', async t => {
  const { relay } = await start(t)
  for (const read of Object.values(readers)) {
    const { stream } = await relay([': queued\n\n', ': queued\n\n', ...whole])
    t.equal(await read(stream), whole.join(''))
  }
})

t.test('a reader that leaves early ends the connection', async t => {
  const { relay, closed, deadlines } = await start(t)
  const { stream } = await relay([first, text('b')], { isOpen: true })
  for await (const piece of stream) if (piece.length > 0) break
  await closed
  t.equal(deadlines.size, 0)
})

t.test('a full sink gets the next piece after it has drained, and may end the stream', async t => {
  const { relay } = await start(t)
  const texts = Array.from({ length: 200 }, (_, index) => text(`${index} ${'x'.repeat(4096)}`))
  const body = [opening, ...texts, chunk({}, 'stop'), done]
  const { stream } = await relay([body.join('')])
  let waits = 0
  const pieces: Buffer[] = []
  await stream.pipeTo({
    write (piece) {
      pieces.push(Buffer.from(piece))
      return false
    },
    async drained () {
      waits += 1
      await nextTurn()
    }
  })
  t.equal(Buffer.concat(pieces).toString(), body.join(''))
  t.ok(waits > 1)
  const leaving = await relay([first, text('b')], { isOpen: true })
  const gone = new Error('the client has gone')
  const sink = { write: () => false, drained: () => Promise.reject(gone) }
  t.equal(await rejection(leaving.stream.pipeTo(sink)), gone)
})

t.test('nothing follows an error, although more has come by then', async t => {
  const { relay, deadlines } = await start(t)
  const { stream, report } = await relay([opening, text('a'), event({ error: { message: 'Out of memory' } }), text('late')])
  await settled(deadlines)
  const pieces: Buffer[] = []
  const reading = readers.pipe?.(stream, pieces) ?? Promise.resolve()
  t.match(await rejection(reading), { message: /Out of memory/ })
  t.equal(Buffer.concat(pieces).toString(), opening + text('a'))
  t.equal(report.delivered.text, 'a')
})

t.test('a dialect\'s words become OpenAI\'s', async t => {
  const { relay } = await start(t)
  const together = await relay([chunk({ reasoning: 'Hm.' }), chunk({}, 'eos'), done], { dialect: 'together' })
  const seen = await readers.iterate?.(together.stream) ?? ''
  t.match(seen, '"reasoning_content":"Hm."')
  t.match(seen, '"finish_reason":"stop"')
  const parts = [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] }, { type: 'text', text: 'Yes.' }]
  const mistral = await relay([chunk({ content: parts }), chunk({}, 'model_length'), done], { dialect: 'mistral' })
  const other = await readers.pipe?.(mistral.stream) ?? ''
  t.match(other, '"content":"Yes."')
  t.match(other, '"reasoning_content":"Hm."')
  t.match(other, '"finish_reason":"length"')
  const failed = await relay([first, chunk({}, 'insufficient_system_resource')], { dialect: 'deepseek' })
  t.match(await rejection(readers.pipe?.(failed.stream) ?? Promise.resolve()), { kind: 'overloaded' })
})
