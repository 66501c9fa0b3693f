import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t from 'tap'
import type { Test } from 'tap'
import type { ChatCompletion } from '../../../schemas/openai/chat-completions.ts'
import { videoDefaults } from '../../../services/config/defaults.ts'
import { createRequestRecord } from '../../../services/requests/request-record.ts'
import { LongPoll } from '../../../services/requests/long-poll.ts'
import { failureOf, stillRunning } from '../../../services/videos/reply-video.ts'

/** What a client reads to the end of the connection, when its long poll is ended after `beats` spaces. */
async function read (
  t: Test, version: '1.0' | '1.1', answer: (held: LongPoll) => void, beats = 2
): Promise<{ head: string, body: string, isDelivered: boolean }> {
  const ended = Promise.withResolvers<boolean>()
  const server = createServer((_request, raw) => {
    const held = new LongPoll({
      response: {
        raw,
        send () {},
        fail () {},
        commit: headers => { raw.writeHead(200, headers) },
        serialize: body => JSON.stringify(body)
      },
      headers: {},
      settings: { ...videoDefaults, heartbeatAfterMs: 10, heartbeatEveryMs: 10 },
      clientTimeoutMs: null,
      record: createRequestRecord(),
      stillRunning: () => stillRunning('job_1'),
      failureBody: error => failureOf({ id: 'job_1', model: 'film', createdAt: 0 }, error),
      client: { leave: async () => ended.resolve(false), receive: async () => ended.resolve(true) }
    })
    afterSpaces(raw, beats, () => answer(held))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.write(`POST / HTTP/${version}\r\nHost: gateway\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  let text = ''
  for await (const bytes of socket) text += bytes
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  return { head: head.toLowerCase(), body, isDelivered: await ended.promise }
}

function afterSpaces (raw: ServerResponse, count: number, then: () => void): void {
  const write = raw.write.bind(raw)
  let left = count
  raw.write = (text: string) => {
    if (--left === 0) setImmediate(then)
    return write(text)
  }
}

const completion = (content: string) => ({ object: 'chat.completion', content }) as unknown as ChatCompletion
const lengthIn = (head: string) => Number(/content-length: (\d+)/.exec(head)?.[1])

t.test('by default, spaces are sent after 20 s and then every 15 s', t => {
  t.match(videoDefaults, { heartbeat: true, heartbeatAfterMs: 20_000, heartbeatEveryMs: 15_000 })
  t.end()
})

t.test('for HTTP/1.0 the answer has a length, so that one that was broken off does not look whole', async t => {
  const whole = await read(t, '1.0', held => held.succeed(completion('https://videos.example/ä.mp4'), {}))
  t.notMatch(whole.head, 'transfer-encoding')
  t.equal(Buffer.byteLength(whole.body), lengthIn(whole.head))
  t.match(whole.body, /^ {2}\{/, 'the spaces came early')
  t.match(JSON.parse(whole.body), { content: 'https://videos.example/ä.mp4' })
  t.equal(whole.isDelivered, true)

  const long = await read(t, '1.0', held => held.succeed(completion('x'.repeat(20_000)), {}))
  t.equal(long.body, '  ', 'a completion that is longer is not begun')
  t.ok(long.body.length < lengthIn(long.head))
  t.equal(long.isDelivered, false)
})

t.test('a gateway that stops ends a chunked answer without its last chunk, and one for HTTP/1.0 with a completion', async t => {
  const chunked = await read(t, '1.1', held => held.release())
  t.match(chunked.head, 'transfer-encoding: chunked')
  t.equal(chunked.body, '1\r\n \r\n1\r\n \r\n')
  t.equal(chunked.isDelivered, false)

  const old = await read(t, '1.0', held => held.release())
  t.equal(old.body.length, lengthIn(old.head))
  t.match(JSON.parse(old.body), { object: 'chat.completion', error: { code: 'still_running' }, job_id: 'job_1' })
  t.equal(old.isDelivered, false, 'its job waits for the next request')
})
