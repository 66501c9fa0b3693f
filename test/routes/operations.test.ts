import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { request } from 'undici'
import metricsPort from '../../plugins/gateway/metrics-port.ts'
import { buildGateway, startGateway } from '../helpers/gateway.ts'

const adminKey = 'operator-key-of-this-test'
const env = { TOLLGATE_ADMIN_KEY: adminKey }
const authorization = `Bearer ${adminKey}`
const ask = { model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] }

t.test('metrics show what a request did, to admin keys alone', async t => {
  const { app, url, headers, line } = await startGateway(t, { env })
  const body = JSON.stringify(ask)
  const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body })
  await answer.body.dump()
  await line(({ msg }) => msg === 'request')
  await app.ledger.flush()

  t.equal((await app.inject('/metrics')).statusCode, 401)
  t.equal((await app.inject({ url: '/metrics', headers })).statusCode, 401, 'a user\'s key is none of an operator')
  const shown = await app.inject({ url: '/metrics', headers: { authorization } })
  t.equal(shown.statusCode, 200)
  t.match(shown.headers['content-type'], /^text\/plain; version=0\.0\.4/)
  const labels = 'route="/v1/chat/completions",model="sandbox-chat",provider="sandbox"'
  const value = (name: string) => Number(shown.body.split('\n').find(line => line.startsWith(name))?.split(' ').at(-1))
  t.equal(value(`tollgate_requests_total{${labels},status="200"}`), 1)
  t.ok(value(`tollgate_tokens_total{${labels},kind="prompt"}`) > 0)
  t.ok(value(`tollgate_tokens_total{${labels},kind="completion"}`) > 0)
  const costUsd = Number(answer.headers['x-tollgate-cost'])
  t.ok(Math.abs(value(`tollgate_cost_usd_total{${labels}}`) - costUsd) < 1e-9)
  t.equal(value(`tollgate_request_duration_seconds_count{${labels}}`), 1)
  t.equal(value(`tollgate_first_byte_seconds_count{${labels}}`), 1)
  t.ok(value('tollgate_ledger_flush_seconds_count') >= 1)
  t.equal(value('tollgate_holds'), 0)
  t.equal(value('tollgate_breaker_state{'), 0)
  t.equal(value('tollgate_ready'), 1)
  t.ok(value('nodejs_eventloop_lag_seconds') >= 0)
  t.notMatch(shown.body, adminKey)
})

t.test('metrics have a port of their own, when one is named', async t => {
  const beforeReady = (app: FastifyInstance) => app.register(metricsPort, { host: '127.0.0.1', port: 0 })
  const { app } = await buildGateway(t, { beforeReady })
  const port = await app.listenForMetrics?.()
  const shown = await request(`http://127.0.0.1:${port}/metrics`)
  t.equal(shown.statusCode, 200)
  t.match(await shown.body.text(), /^tollgate_ready 1$/m)
  const other = await request(`http://127.0.0.1:${port}/admin/keys`)
  await other.body.dump()
  t.equal(other.statusCode, 404, 'and nothing else')
})

t.test('health needs no key', async t => {
  const { app } = await startGateway(t)
  t.match((await app.inject('/healthz')).json(), { status: 'ok' })
  const ready = await app.inject('/readyz')
  t.equal(ready.statusCode, 200)
  t.same(ready.json(), { status: 'ready', draining: false, database: 'ok' })
})

t.test('a node is not ready from the moment it is asked to leave, and still serves', async t => {
  const { app, url, headers } = await startGateway(t, { env: { TOLLGATE_DRAIN_DELAY_SECONDS: '1' } })
  const origin = url.replace('/v1', '')
  const left = app.leave()
  const ready = await request(`${origin}/readyz`)
  t.equal(ready.statusCode, 503)
  t.match(await ready.body.json(), { status: 'not_ready', draining: true })
  const healthy = await request(`${origin}/healthz`)
  await healthy.body.dump()
  t.equal(healthy.statusCode, 200)
  const answer = await request(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(ask) })
  await answer.body.dump()
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers.connection, 'close')
  await left
  await t.rejects(request(`${origin}/healthz`), { code: 'ECONNREFUSED' })
})
