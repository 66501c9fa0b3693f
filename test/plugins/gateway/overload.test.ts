import { connect } from 'node:net'
import t from 'tap'
import { request } from 'undici'
import { createLoad } from '../../../services/http/load.ts'
import { configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { reply, scripts, startUpstream } from '../../servers/upstream.ts'
import { until } from '../../helpers/until.ts'

const adminKey = 'operator-key-of-this-test'

t.test('beyond so many requests the next is turned away, admin and health are not', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const opened = Promise.withResolvers<void>()
  upstream.always(scripts.heldUntil(opened.promise, reply()))
  const { app, url, headers } = await startGateway(t, {
    config: configFor(providerAt(upstream.url)),
    env: { TOLLGATE_MAX_REQUESTS: '2', TOLLGATE_ADMIN_KEY: adminKey }
  })
  const body = JSON.stringify({ model: 'chat', messages: [{ role: 'user', content: 'Hello' }] })
  const ask = () => request(`${url}/chat/completions`, { method: 'POST', headers, body })
  const running = [ask(), ask()]
  await upstream.nextRequest()
  await upstream.nextRequest()
  const refused = await ask()
  t.equal(refused.statusCode, 503)
  t.ok(Number(refused.headers['retry-after']) >= 1)
  t.ok(refused.headers['x-request-id'])
  t.match(await refused.body.json(), { error: { type: 'service_unavailable_error', code: 'server_is_overloaded' } })
  const authorization = `Bearer ${adminKey}`
  for (const path of ['/healthz', '/readyz', '/metrics', '/admin/keys']) {
    t.equal((await app.inject({ url: path, headers: { authorization } })).statusCode, 200, path)
  }

  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write('POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 999\r\n\r\n')
  const [head] = await new Promise<string[]>(resolve => socket.once('data', data => resolve([String(data)])))
  t.match(head, /^HTTP\/1\.1 503 /, 'before a byte of the body was there, and without a key')
  socket.destroy()

  opened.resolve()
  for (const answer of await Promise.all(running)) {
    t.equal(answer.statusCode, 200)
    await answer.body.dump()
  }
  await until(() => app.load.counts.requests === 0)
  const again = await ask()
  await again.body.dump()
  t.equal(again.statusCode, 200, 'the room is there again')
})

t.test('beyond so many streams a further one is turned away, a whole answer is not', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  upstream.script(scripts.stalledAfter(2))
  const config = configFor(providerAt(upstream.url))
  const { url, headers } = await startGateway(t, { config, env: { TOLLGATE_MAX_STREAMS: '1' } })
  const ask = (stream: boolean) => request(`${url}/chat/completions`, {
    method: 'POST', headers, body: JSON.stringify({ model: 'chat', stream, messages: [{ role: 'user', content: 'Hi' }] })
  })
  const running = await ask(true)
  const refused = await ask(true)
  await refused.body.dump()
  t.equal(refused.statusCode, 503)
  const whole = await ask(false)
  await whole.body.dump()
  t.equal(whole.statusCode, 200)
  running.body.destroy()
})

t.test('a late event loop counts as full, and a place is freed once', async t => {
  let lagMs = 0
  const load = createLoad({ requests: 10, streams: 1, polls: 1, bytes: 100, lagMs: 100 }, () => lagMs)
  t.teardown(() => load.stop())
  t.notOk(load.isFull('requests'))
  lagMs = 101
  t.ok(load.isFull('requests'))
  lagMs = 0
  const leave = load.admit('polls')
  t.throws(() => load.admit('polls'), { code: 'server_is_overloaded' })
  leave()
  leave()
  t.equal(load.counts.polls, 0)
  load.admit('polls')
  t.equal(load.shedCount, 1)
})

t.test('the lag of the real event loop is seen', async t => {
  const load = createLoad({ requests: 10, streams: 1, polls: 1, bytes: 100, lagMs: 50 })
  t.teardown(() => load.stop())
  while (!load.isFull('requests')) {
    const untilMs = performance.now() + 100
    while (performance.now() < untilMs);
    await new Promise(resolve => setTimeout(resolve))
  }
  t.ok(load.lagMs() > 50)
})
