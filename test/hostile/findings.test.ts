import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { configFromEnvironment } from '../../services/config/environment/environment.ts'
import { hastenVideos, startGateway, type Gateway } from '../helpers/gateway.ts'
import { processorMs } from '../helpers/processor-time.ts'

// Attacks that once succeeded, each by its number. The others: A2, values that take more memory than their
// text, is chaos/many-large-bodies and `empty objects` of chaos/pauses; A4, apps in browsers, is
// plugins/library/cors and browser/cors; A8, HTTP, is http.test.ts; A9, pauses, is chaos/pauses.

async function post ({ url, headers }: Gateway, body: object): Promise<{ answer: Response, text: string }> {
  const answer = await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(body) })
  return { answer, text: await answer.text() }
}

const chat = (model: string, content: unknown) => ({ model, messages: [{ role: 'user', content }] })

t.test('A1: addresses of pictures in a video\'s prompt are read in linear time', async t => {
  const gateway = await startGateway(t)
  hastenVideos(gateway, { minMs: 20, maxMs: 40 })
  for (const bytes of [8_000, 32_000, 200_000]) {
    const startedMs = processorMs()
    const { answer } = await post(gateway, chat('sandbox-video', `${'https://a.png?'.repeat(bytes / 14)}\nsandbox:delay 0`))
    const tookMs = processorMs() - startedMs
    t.ok(answer.status < 500, `${bytes} bytes: ${answer.status}`)
    // It was 2.7 s for 32 KB and 15 s for 200 KB.
    if (bytes > 32_000) t.ok(tookMs < 4_000, `${tookMs} ms`)
  }
})

/** A gateway whose models have names beyond the BMP. */
async function withOddNames (t: Test): Promise<Gateway> {
  const config = configFromEnvironment({})
  const models = config.models.map(model => ({ ...model, id: `${model.id}-\u{1f600}` }))
  const gateway = await startGateway(t, { config: { ...config, models } })
  hastenVideos(gateway, { minMs: 20, maxMs: 40 })
  return gateway
}

t.test('A3: a model whose name is beyond the BMP answers, and no half of a character is charged without one', async t => {
  const gateway = await withOddNames(t)
  const { answer } = await post(gateway, chat('sandbox-chat-\u{1f600}', 'Hello'))
  t.equal(answer.status, 200)
  t.match(answer.headers.get('x-tollgate-model'), /sandbox-chat/)
  const video = await post(gateway, chat('sandbox-video-\u{1f600}', 'Waves\nsandbox:delay 0'))
  t.equal(video.answer.status, 200, video.text.slice(0, 200))
  for (const half of ['\ud83d', '\ude00']) {
    const { answer } = await post(gateway, chat(`sandbox-chat-${half}`, half))
    t.equal(answer.status, 404)
  }
})

t.test('A5: neither the log nor the answer repeats a long name of a model', async t => {
  const gateway = await startGateway(t)
  const { answer, text } = await post(gateway, chat('a'.repeat(1_000_000), 'Hello'))
  t.equal(answer.status, 404)
  t.ok(text.length < 2_000, `${text.length} characters`)
  const line = await gateway.line(({ status }) => status === 404)
  t.ok(JSON.stringify(line).length < 2_000)
})

t.test('A6: unfinished headers have a bound in size and in time', async t => {
  const gateway = await startGateway(t)
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname).on('error', () => {}).setEncoding('latin1')
  socket.write(`GET /v1/models HTTP/1.1\r\nHost: a\r\nX: ${'a'.repeat(70_000)}`)
  const [head] = await once(socket, 'data')
  t.match(head, /^HTTP\/1.1 431 /)
  socket.destroy()
  const { server } = gateway.app
  t.ok(server.maxConnections > 0, 'so has the number of connections')
  t.ok(server.headersTimeout > 0 && server.headersTimeout <= 60_000, `${server.headersTimeout} ms`)
})

t.test('A7: an address within the network is told apart from one that does not exist by no word', async t => {
  const gateway = await startGateway(t)
  const errors = await Promise.all(['localhost', 'no-such-name.invalid'].map(async host => {
    const picture = { type: 'image_url', image_url: { url: `https://${host}/a.png` } }
    const { answer, text } = await post(gateway, chat('sandbox-video', [{ type: 'text', text: 'Waves' }, picture]))
    return { status: answer.status, text: text.replaceAll(host, 'HOST') }
  }))
  t.equal(errors[0]?.status, 400)
  t.same(errors[0], errors[1])
})

t.test('A8: what is no picture is refused at once, and paths with dot segments are unknown', async t => {
  const gateway = await startGateway(t)
  const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const { answer, text } = await post(gateway, chat('sandbox-video', [{ type: 'text', text: 'Waves' }, picture]))
  t.equal(answer.status, 400, text.slice(0, 200))
  const { hostname, port } = new URL(gateway.url)
  const socket = connect(Number(port), hostname).setEncoding('latin1')
  socket.write('GET /docs/../metrics HTTP/1.1\r\nHost: a\r\n\r\n')
  t.match((await once(socket, 'data'))[0], /^HTTP\/1.1 404 /)
  socket.destroy()
})
