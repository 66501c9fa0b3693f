import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { addressOf, spawnGateway } from '../helpers/process.ts'

const wait = 'sandbox:delay 15'
const messages = [{ role: 'user', content: wait }]
const requests = [
  { path: '/v1/chat/completions', body: { model: 'sandbox-chat', messages } },
  { path: '/v1/chat/completions', body: { model: 'sandbox-chat', messages, stream: true } },
  { path: '/v1/messages', body: { model: 'sandbox-chat', messages, max_tokens: 50 } },
  { path: '/v1/responses', body: { model: 'sandbox-chat', input: wait } }
]
/** The last ones leave after the answer has come. */
const longestMs = 40

t.test('a client that leaves at any moment is no error of the gateway', async t => {
  const gateway = await spawnGateway(t, { TOLLGATE_STARTING_CREDIT: '100' })
  const { url, key } = await addressOf(gateway)
  const port = Number(new URL(url).port)

  async function leave (path: string, body: object, afterMs: number): Promise<void> {
    const text = JSON.stringify(body)
    const socket = connect(port, '127.0.0.1')
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.on('error', () => {})
    socket.write(`POST ${path} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`)
    await sleep(afterMs)
    socket.destroy()
    await closed
  }

  for (let round = 0; round < 40; round++) {
    await Promise.all(requests.map(({ path, body }, at) => leave(path, body, (round * 7 + at) % longestMs)))
    // The second client waits for the picture that the first one has left behind.
    const picture = { model: 'sandbox-image', size: '64x64', prompt: 'sandbox:delay 60', user: `user ${round}` }
    for (let client = 0; client < 3; client++) await leave('/v1/images/generations', picture, 15)
  }
  const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${key}` } })
  t.equal(answer.status, 200)
  t.notMatch(gateway.output(), /"level":[56]0/)
  t.match(gateway.output(), /client_gone/, 'some have left in time')
})
