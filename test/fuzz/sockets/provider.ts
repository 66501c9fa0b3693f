import { createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { hash } from 'node:crypto'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import type { JsonObject } from '../../../services/shared/json.ts'
import { createRandom, type Random } from '../../services/billing/ledger/random.ts'
import { answerEvents, wholeAnswer, type Plan } from '../hostile-provider.ts'
import { mutate } from './generate.ts'
import { junkValue, oddNumbers, oddText } from './texts.ts'

/** The key of the gateway at the provider, which no client and no log may see. */
export const providerKey = 'sk-provider-secret-4b1d6c0e9f'

/** A provider that answers in every way; the same request gets the same answer. */
export interface FuzzProvider {
  port: number
  /** A server that no request of the gateway may reach: redirects and addresses of results lead there. */
  trapPort: number
  readonly trapped: number
  readonly calls: number
  close (): void
}

interface Asked { method: string, path: string, body: JsonObject | null, random: Random, trap: string }

/** Parts of an HTTP answer, sent as they are; `ending` says what follows. */
interface Raw { head: string, body: Buffer | (() => Buffer), ending: 'end' | 'reset' | 'stall' | 'endless' }

/** Starts it on a free port of this machine. */
export async function startFuzzProvider (seed: number): Promise<FuzzProvider> {
  let [trapped, calls] = [0, 0]
  const sockets = new Set<Socket>()
  const trap = createServer(socket => {
    trapped++
    socket.destroy()
  })
  const server = createServer(socket => {
    sockets.add(socket.on('close', () => sockets.delete(socket)).on('error', () => {}))
    readRequests(socket, ({ method, path, text }) => {
      calls++
      const random = createRandom(seed + parseInt(hash('sha1', path + text).slice(0, 8), 16))
      const asked = { method, path, body: objectIn(text), random, trap: `http://127.0.0.1:${portOf(trap)}/` }
      answer(socket, asked)
    })
  })
  const portOf = (listener: typeof server): number => (listener.address() as AddressInfo).port
  for (const listener of [trap, server]) await once(listener.listen(0, '127.0.0.1'), 'listening')
  return {
    port: portOf(server),
    trapPort: portOf(trap),
    get trapped () { return trapped },
    get calls () { return calls },
    close () {
      trap.close()
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

interface Received { method: string, path: string, text: string }

/** Reads one request after another; the gateway's own HTTP is right, so a length is enough. */
function readRequests (socket: Socket, onRequest: (request: Received) => void): void {
  let pending: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    for (;;) {
      const end = pending.indexOf('\r\n\r\n')
      if (end === -1) return
      const head = pending.toString('latin1', 0, end)
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
      if (pending.length < end + 4 + length) return
      const [method = '', path = ''] = head.split(' ')
      const text = pending.toString('utf8', end + 4, end + 4 + length)
      pending = pending.subarray(end + 4 + length)
      onRequest({ method, path, text })
    }
  })
}

function objectIn (text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null
  } catch {
    return null
  }
}

function answer (socket: Socket, asked: Asked): void {
  const { head, body, ending } = rawAnswer(asked)
  const bytes = typeof body === 'function' ? body() : body
  socket.write(head, 'latin1')
  if (ending === 'endless') return endless(socket, bytes)
  if (ending === 'reset') socket.resetAndDestroy()
  else socket.write(bytes)
  if (ending === 'end' && !/\r\n(content-length|transfer-encoding):/i.test(head)) socket.end()
}

/** Ten gigabytes in principle: the reader has to stop it. */
const endlessBytes = 10 * 1024 ** 3

function endless (socket: Socket, piece: Buffer): void {
  const block = Buffer.concat(Array(Math.max(1, Math.ceil(65_536 / Math.max(1, piece.length)))).fill(piece))
  let sent = 0
  const write = (): void => {
    while (!socket.destroyed && sent < endlessBytes) {
      sent += block.length
      if (socket.write(block)) continue
      socket.once('drain', write)
      return
    }
  }
  write()
}

function rawAnswer (asked: Asked): Raw {
  const kinds: readonly (readonly [number, (asked: Asked) => Raw])[] = [
    [40, whole], [16, changedJson], [16, changedStream], [8, refusal], [6, oddHeaders], [5, encoded],
    [3, oddBody], [2, redirect], [1.2, brokenOff], [0.3, withoutEnd]
  ]
  return asked.random.weighted(kinds)(asked)
}

const jsonType = 'application/json'

function raw (status: number, headers: readonly string[], body: string | Buffer, ending: Raw['ending'] = 'end'): Raw {
  const bytes = Buffer.from(body)
  const length = ending === 'end' ? [`content-length: ${bytes.length}`] : []
  return { head: [`HTTP/1.1 ${status} OK`, ...headers, ...length, '', ''].join('\r\n'), body: bytes, ending }
}

const typed = (type: string): string[] => [`content-type: ${type}`]

function isStream ({ path, body }: Asked): boolean {
  return body?.['stream'] === true || path.includes('streamGenerateContent')
}

function planOf (random: Random): Plan {
  const number = () => random.weighted<string | null>([
    [8, String(random.integer(0, 200))], [1, null], [1, random.pick(oddNumbers) ?? '0'], [1, JSON.stringify(junkValue(random))]
  ])
  return {
    ending: 'whole',
    status: 200,
    texts: Array.from({ length: random.integer(0, 5) }, () => oddText(random, 3_000)),
    usage: random.next() < 0.1
      ? { text: JSON.stringify(junkValue(random)) }
      : { prompt: number(), completion: number(), other: null, details: null },
    isRepeated: random.next() < 0.05,
    isInEveryChunk: random.next() < 0.1,
    junk: random.next() < 0.1 ? JSON.stringify(junkValue(random)) : null,
    tier: null,
    images: random.integer(0, 2),
    delayMs: 0,
    gapMs: 0
  }
}

/** The answer that the request wants, as JSON text. */
function usualBody (asked: Asked): string {
  const { path, method, random, trap } = asked
  if (path.includes('/videos')) return videoBody(method, path, random)
  const text = wholeAnswer(asked, planOf(random))
  if (!path.includes('/images/') || random.next() < 0.6) return text
  const url = random.pick([trap, `${trap}a.png`, 'https://127.0.0.1/a', 'file:///etc/passwd'])
  return JSON.stringify({ created: 1, data: [{ url }] })
}

function videoBody (method: string, path: string, random: Random): string {
  const job = { object: 'video', progress: 0 }
  if (method === 'POST') return JSON.stringify({ ...job, id: `v${random.integer(0, 1e9)}`, status: 'queued' })
  if (path.includes('/content')) return oddText(random, 3_000)
  const status = random.pick(['completed', 'failed', 'completed', 'failed', 'cancelled'])
  const message = `${oddText(random, 300)} ${providerKey}`
  const error = status === 'failed' ? { code: 'x', message } : null
  return JSON.stringify({ ...job, id: path.split('/').at(-1), status, error })
}

const whole = (asked: Asked): Raw => isStream(asked)
  ? raw(200, typed('text/event-stream'), answerEvents(asked, planOf(asked.random)).join(''))
  : raw(200, typed(jsonType), usualBody(asked))

function changedJson (asked: Asked): Raw {
  const { random } = asked
  const changed = (text: string): string => {
    try {
      return JSON.stringify(mutate(JSON.parse(text), random, random.integer(1, 4))) ?? ''
    } catch {
      return text
    }
  }
  if (!isStream(asked)) return raw(200, typed(jsonType), changed(usualBody(asked)))
  const events = answerEvents(asked, planOf(random)).map(event => random.next() < 0.4
    ? event.replace(/^data: (.*)$/m, (_, json) => `data: ${changed(json)}`)
    : event)
  return raw(200, typed('text/event-stream'), events.join(''))
}

function changedStream (asked: Asked): Raw {
  const { random } = asked
  const events = answerEvents(asked, planOf(random))
  const message = `failed with ${providerKey}: ${oddText(random, 300)}`
  const error = { error: { message, type: null, code: 500, param: [] } }
  const strange = [
    ': comment\n\n', 'data\n\n', 'data:\n\n', 'event: x\n\n', '\n\n\n', 'retry: 0\n\n', `data: ${JSON.stringify(error)}\n\n`, 'data: [DONE]\n\n',
    `event: error\ndata: ${JSON.stringify(error)}\n\n`, 'data: {"choices":[{"delta":null}]}\n\n', 'data: {"choices":{}}\n\n', 'data: null\n\n',
    `data: ${JSON.stringify(junkValue(random))}\n\n`, `id: ${oddText(random, 300)}\n`, `data: "${'x'.repeat(random.integer(1, 200_000))}"\n\n`
  ]
  for (let count = random.integer(1, 4); count > 0; count--) {
    const at = random.integer(0, events.length)
    const kind = random.integer(0, 3)
    if (kind === 0) events.splice(at, 1)
    else if (kind === 1) events.splice(at, 0, events[at] ?? '')
    else events.splice(at, 0, random.pick(strange) ?? '')
  }
  let text = events.join('')
  if (random.next() < 0.2) text = text.replaceAll('\n', random.pick(['\r\n', '\r']) ?? '')
  if (random.next() < 0.2) text = text.slice(0, random.integer(0, text.length))
  const type = random.weighted([[8, 'text/event-stream'], [1, jsonType], [1, 'text/html; charset=x']] as const)
  return raw(200, typed(type), text)
}

const refusals = [
  400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 451, 499, 500, 501,
  502, 503, 504, 529, 599, 204, 201, 999
]

function refusal ({ random }: Asked): Raw {
  const status = random.pick(refusals) ?? 500
  const message = `${oddText(random, 3_000)} key ${providerKey} of Bearer ${providerKey}`
  const error = random.pick<unknown>([
    { error: { message, type: providerKey, param: providerKey, code: providerKey } }, { error: message },
    { message }, { detail: [{ msg: message }] }, [message], message,
    { error: { message: { a: message } } }, { error: { message, code: 7, type: [], param: {} } }, null
  ])
  const wait = random.pick(['', 'retry-after: 1e9', 'retry-after: -5', 'retry-after: Thu, 01 Jan 1970 00:00:00 GMT', 'retry-after-ms: NaN', 'retry-after: 0'])
  const type = random.pick([jsonType, 'text/html', 'text/event-stream']) ?? jsonType
  const headers = [...typed(type), `x-request-id: ${providerKey}`]
  return raw(status, wait ? [...headers, wait] : headers, status === 204 ? '' : JSON.stringify(error))
}

function oddHeaders (asked: Asked): Raw {
  const { random } = asked
  const usual = whole(asked)
  const odd = random.pick([
    'x-request-id: a\rX-Injected: 1', 'x-request-id: a\nX-Injected: 1', 'x-request-id: a\r\n X-Injected: 1', 'x-request-id: \0\x01\x7f', 'x-request-id: é\xff',
    `x-request-id: ${'a'.repeat(2_000)}`, `x-request-id: ${'a'.repeat(1_000_000)}`, `x-big: ${'b'.repeat(1_000_000)}`,
    Array.from({ length: 3_000 }, (_, at) => `x-${at}: 1`).join('\r\n'), 'content-length: 5', 'content-length: -1', 'content-length: 99999999999',
    'transfer-encoding: gzip, chunked', 'transfer-encoding: chunked', ': no name', 'no colon', `openai-processing-ms: ${providerKey}`,
    `set-cookie: key=${providerKey}`, 'connection: close', 'connection: upgrade\r\nupgrade: h2c', 'x-ratelimit-remaining-requests: \x1b[2J', 'trailer: x', 'content-type: a\r\ncontent-type: b'
  ]) ?? ''
  return { ...usual, head: usual.head.replace('\r\n', `\r\n${odd}\r\n`) }
}

/** A bomb is made once: 64 MB that pack into 64 KB, of blanks that JSON allows. */
const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024 + 1, ' '))
const streamBomb = gzipSync(Buffer.alloc(24 * 1024 * 1024, 'data: {"choices":[]}'))

function encoded (asked: Asked): Raw {
  const { random } = asked
  const text = isStream(asked) ? answerEvents(asked, planOf(random)).join('') : usualBody(asked)
  const type = isStream(asked) ? 'text/event-stream' : jsonType
  const packed = gzipSync(text)
  const [coding, bytes] = random.weighted<[string, Buffer]>([
    [4, ['gzip', packed]], [2, ['gzip', packed.subarray(0, random.integer(0, packed.length))]], [2, ['gzip', Buffer.from(text)]],
    [2, ['br', brotliCompressSync(text)]], [1, ['deflate', deflateSync(text)]], [1, ['gzip, gzip', gzipSync(packed)]], [1, [oddText(random, 30), packed]],
    [1, ['gzip', Buffer.concat([packed, packed])]], [0.4, ['gzip', bomb]], [0.4, ['gzip', streamBomb]]
  ])
  return raw(200, [...typed(type), `content-encoding: ${coding.replace(/[^\x20-\x7e]/g, '')}`], bytes)
}

function oddBody (asked: Asked): Raw {
  const { random } = asked
  const text = random.pick([
    '', ' ', '{', 'null', '[]', '"text"', '<html><title>502</title></html>', `{"error":null}${' '.repeat(1000)}`, '{"a":'.repeat(5_000), '['.repeat(50_000),
    `{"choices":[{"message":{"content":"${'a'.repeat(1_000_000)}"}}]}`, `{"choices":[${'{},'.repeat(50_000)}{}]}`, Buffer.from([0xff, 0xfe, 0xfd]), oddText(random)
  ]) ?? ''
  return raw(200, typed(random.pick([jsonType, 'text/event-stream', 'text/plain']) ?? jsonType), text)
}

function redirect ({ random, trap }: Asked): Raw {
  const status = random.pick([301, 302, 303, 307, 308]) ?? 302
  return raw(status, [`location: ${random.pick([trap, `${trap}?key=${providerKey}`, '//localhost/', 'file:///etc/passwd', '/loop'])}`], '')
}

function brokenOff (asked: Asked): Raw {
  const usual = whole(asked)
  const ending = asked.random.weighted([[3, 'reset'], [1, 'stall']] as const)
  const text = usual.body instanceof Buffer ? usual.body : Buffer.alloc(0)
  const head = asked.random.next() < 0.3 ? 'HTTP/1.1 200' : usual.head
  return { head, body: text.subarray(0, asked.random.integer(0, text.length)), ending }
}

function withoutEnd (asked: Asked): Raw {
  const piece = asked.random.pick([
    'data: {"id":"x","choices":[{"index":0,"delta":{"content":"more "}}]}\n\n', 'data: more', ': ping\n\n', ' ', '\n', '[', '{"a":"', '\0'
  ]) ?? ' '
  const type = isStream(asked) ? 'text/event-stream' : jsonType
  if (asked.random.next() < 0.2) return { head: 'HTTP/1.1 200 OK\r\n', body: Buffer.from('x-more: 1\r\n'), ending: 'endless' }
  return raw(200, typed(type), piece, 'endless')
}
