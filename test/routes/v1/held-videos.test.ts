import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import t from 'tap'
import type { Test } from 'tap'
import { videoDefaults } from '../../../services/config/defaults.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { startGateway, type Gateway } from '../../helpers/gateway.ts'
import { addressOf, spawnGateway, temporaryFolder, type GatewayProcess } from '../../helpers/process.ts'
import { until } from '../../helpers/until.ts'

const run = promisify(execFile)
const heartbeatEveryMs = 40

async function start (t: Test, drainS: number, heartbeatAfterMs = 150): Promise<Gateway> {
  const video = { ...videoDefaults, heartbeatAfterMs, heartbeatEveryMs }
  return await startGateway(t, {
    config: { ...configFromEnvironment({}), video }, env: { TOLLGATE_DRAIN_SECONDS: String(drainS) }
  })
}

const bodyFor = (prompt: string) => ({
  model: 'sandbox-video', messages: [{ role: 'user' as const, content: prompt }], video: { seconds: 2, size: '320x180' }
})

/** Sends a request and reads to the end of the connection; `begun` resolves with the first bytes. */
async function hold ({ url, key }: Pick<Gateway, 'url' | 'key'>, version: '1.0' | '1.1', prompt: string) {
  const body = JSON.stringify(bodyFor(prompt))
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`POST /v1/chat/completions HTTP/${version}\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
  const begun = once(socket, 'data')
  const read = text(socket).then(text => {
    const [head = '', ...rest] = text.split('\r\n\r\n')
    return { head: head.toLowerCase(), body: rest.join('\r\n\r\n') }
  })
  return { begun, read }
}

const lengthIn = (head: string) => Number(/content-length: (\d+)/.exec(head)?.[1])

t.test('a closing gateway waits for its held videos, and answers them', async t => {
  const gateway = await start(t, 30)
  const old = await hold(gateway, '1.0', 'old\nsandbox:delay 1500')
  const plain = await hold(gateway, '1.1', 'plain\nsandbox:delay 1500')
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const asked = client.chat.completions.create(bodyFor('sdk\nsandbox:delay 1500'))
  await Promise.all([old.begun, plain.begun])
  // Nothing of its answer was sent yet.
  const late = await hold(gateway, '1.1', 'late\nsandbox:delay 50')
  await gateway.app.close()
  t.match((await asked).choices[0]?.message.content, /^http/)
  const { head, body } = await old.read
  t.notMatch(head, 'transfer-encoding')
  t.equal(Buffer.byteLength(body), lengthIn(head))
  t.match(JSON.parse(body).choices[0].message.content, /^http/)
  t.match((await plain.read).body, /"content":"http[^]*\r\n0\r\n\r\n$/)
  t.match((await late.read).head, /^http\/1\.1 200 [^]*\r\nconnection: close/)
})

t.test('when its time is over, nothing that it has sent looks like a whole answer without a completion', async t => {
  const gateway = await start(t, 0)
  const silent = await start(t, 0, 60_000)
  const [old, plain] = [await hold(gateway, '1.0', 'old\nsandbox:delay 60000'), await hold(gateway, '1.1', 'plain\nsandbox:delay 60000')]
  await Promise.all([old.begun, plain.begun])
  const early = await Promise.all((['1.0', '1.1'] as const).map(version => hold(silent, version, 'early\nsandbox:delay 60000')))
  await until(() => silent.app.videos.longPolls >= 2)
  await Promise.all([gateway.app.close(), silent.app.close()])
  const { head, body } = await old.read
  t.equal(body.length, lengthIn(head))
  t.match(JSON.parse(body), { object: 'chat.completion', error: { code: 'still_running' } })
  const broken = await plain.read
  t.match(broken.head, 'transfer-encoding: chunked')
  t.notMatch(broken.body, /\r\n0\r\n/)
  for (const { read } of early) {
    const { head, body } = await read
    t.match(head, /^http\/1\.1 503 [^]*\r\nretry-after: 1/)
    t.match(JSON.parse(body), { error: { code: 'shutting_down' } })
  }
})

async function spawn (t: Test): Promise<{ gateway: GatewayProcess, address: { url: string, key: string } }> {
  const folder = await temporaryFolder(t)
  await writeFile(join(folder, 'gateway.yaml'), `
providers: [{ id: sandbox, protocol: sandbox }]
video: { heartbeat_after_ms: 100, heartbeat_every_ms: 100 }
`)
  const gateway = await spawnGateway(t, { TOLLGATE_DRAIN_SECONDS: '3600' }, { folder })
  return { gateway, address: await addressOf(gateway) }
}

t.test('an answer by HTTP/1.0 whose gateway was killed is incomplete for its client', async t => {
  const { gateway, address: { url, key } } = await spawn(t)
  const curl = run('curl', [
    '--http1.0', '--silent', '--show-error', '--no-buffer', `${url}/chat/completions`, '-H', `Authorization: Bearer ${key}`,
    '-H', 'Content-Type: application/json', '-d', JSON.stringify(bodyFor('a\nsandbox:delay 60000'))
  ])
  if (curl.child.stdout !== null) await Promise.race([curl, once(curl.child.stdout, 'data')])
  gateway.child.kill('SIGKILL')
  const code = await curl.catch(error => error.code)
  t.ok(code === 18 || code === 56, `curl says ${code}; 18 is a partial file, 56 a reset connection`)
})

for (const second of ['SIGTERM', 'SIGINT'] as const) {
  t.test(`a second signal, ${second}, does not wait for held videos`, async t => {
    const { gateway, address } = await spawn(t)
    const held = await hold(address, '1.1', 'a\nsandbox:delay 60000')
    await held.begun
    gateway.child.kill('SIGTERM')
    await gateway.printed(/"msg":"closing"/)
    gateway.child.kill(second)
    t.equal(await gateway.exited, 1)
    await held.read.catch(() => {})
  })
}
