import { text } from 'node:stream/consumers'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { Webhook as Judge } from 'standardwebhooks'
import type { Gateway } from '../../helpers/gateway.ts'
import { startPlainSite } from '../../services/media/web.ts'
import { create, createByForm, ended, json, send, startVideoGateway } from './video-client.ts'
import { until } from '../../helpers/until.ts'

const adminKey = 'operator-key-of-this-test'
const now = 'a ball\nsandbox:delay 0'

interface Received { path: string, body: string, headers: Record<string, string> }

/** A gateway, and a server that its clients' webhooks may name. */
async function start (t: Test) {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const site = await startPlainSite(t, async (request, response) => {
    const headers = Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    received.push({ path: request.url ?? '', body: await text(request), headers: Object.fromEntries(headers) })
    response.end()
    for (const look of waiting) look()
  })
  const origin = `http://127.0.0.1:${site.port}`
  const env = { TOLLGATE_WEBHOOK_ORIGINS: origin, TOLLGATE_ADMIN_KEY: adminKey }
  const gateway = await startVideoGateway(t, env)
  const arrived = async (count: number): Promise<Received[]> => await new Promise(resolve => {
    const look = () => { if (received.length >= count) resolve(received) }
    waiting.add(look)
    look()
  })
  return { gateway, origin, received, arrived }
}

async function admin ({ url }: Gateway, path: string, method = 'GET') {
  return await send({ url: url.replace(/\/v1$/, ''), key: adminKey }, `/admin${path}`, {}, method)
}

t.test('the webhook of a video is told of its end, and the SDKs accept the signature', async t => {
  const { gateway, origin, arrived } = await start(t)
  const { body: { secret } } = await admin(gateway, '/accounts/default/webhook-secret')
  const { body: { id } } = await create(gateway, { prompt: now, webhook_url: `${origin}/hook?token=abc` })
  const [message] = await arrived(1)
  const { body = '', headers = {}, path } = message ?? {}
  t.equal(path, '/hook?token=abc')
  t.match(headers, { 'content-type': 'application/json', authorization: undefined })
  const client = new OpenAI({ apiKey: 'sk-none', webhookSecret: secret })
  const event = await client.webhooks.unwrap(body, headers)
  t.strictSame(event, new Judge(secret).verify(body, headers))
  const { completed_at: completedAt } = (await send(gateway, `/videos/${id}`, {}, 'GET')).body
  t.match(event, { object: 'event', id: headers['webhook-id'], type: 'video.completed', created_at: completedAt, data: { id } })
  await t.rejects(client.webhooks.unwrap(`${body} `, headers), /does not match the expected signature/)

  const failed = await create(gateway, { prompt: 'a\nsandbox:delay 0\nsandbox:fail moderated', webhook_url: `${origin}/failed` })
  const [, second] = await arrived(2)
  t.match(await client.webhooks.unwrap(second?.body ?? '', second?.headers ?? {}), { type: 'video.failed', data: { id: failed.body.id } })

  const byForm = await createByForm(gateway, { prompt: now, webhook_url: `${origin}/form` })
  const [, , third] = await arrived(3)
  t.match([third?.path, JSON.parse(third?.body ?? '').data.id], ['/form', byForm.body.id])
})

t.test('an operator sees the state of webhooks, without the secrets in their URLs', async t => {
  const { gateway, origin } = await start(t)
  const { app: { store } } = gateway
  const { body: { id } } = await create(gateway, { prompt: 'a\nsandbox:delay 400', webhook_url: `${origin}/hook?token=abc` })
  const shown = async () => (await admin(gateway, `/jobs/${id}`)).body.webhooks
  t.match(await shown(), [{ url: `${origin}/…`, state: 'waiting', type: null, attempts: 0, next_attempt_at: null }])
  await until(async () => (await shown())[0].state === 'delivered')
  t.match(await shown(), [{ type: 'video.completed', attempts: 1, delivered_at: String, error: null }])
  await store.run("update webhook set delivered_at = null, last_error = 'HTTP 500', next_attempt_at = now_ms() + 99999, attempts = 2")
  t.match((await admin(gateway, '/jobs')).body.data[0].webhooks, [{ state: 'due', attempts: 2, error: 'HTTP 500', next_attempt_at: String }])
  await store.run('update webhook set next_attempt_at = null')
  t.match(await shown(), [{ state: 'given_up' }])
  const metrics = await gateway.app.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } })
  t.match(metrics.body, /tollgate_webhook_attempts_total\{outcome="delivered"\} 1/)
})

t.test('a secret is replaced with an overlap; that and each reading are recorded without it', async t => {
  const { gateway, origin, arrived } = await start(t)
  const path = '/accounts/default/webhook-secret'
  const first = await admin(gateway, path)
  t.match(first.body, { object: 'webhook_secret', account: 'default', secret: /^whsec_/, previous_secret: null, previous_until: null })
  t.equal((await admin(gateway, path)).body.secret, first.body.secret)
  const second = await admin(gateway, `${path}/rotate`, 'POST')
  t.match(second.body, { previous_secret: first.body.secret, previous_until: /Z$/ })
  t.not(second.body.secret, first.body.secret)
  await create(gateway, { prompt: now, webhook_url: origin })
  const [message] = await arrived(1)
  for (const { body: { secret } } of [first, second]) {
    t.match(await new OpenAI({ apiKey: 'x' }).webhooks.unwrap(message?.body ?? '', message?.headers, secret), { type: 'video.completed' })
  }
  t.equal((await admin(gateway, '/accounts/none/webhook-secret')).status, 404)
  t.equal((await admin(gateway, '/accounts/none/webhook-secret/rotate', 'POST')).status, 404)
  const audit = await admin(gateway, '/audit')
  const target = 'account:default'
  const read = { action: 'account.read_webhook_secret', target, actor: 'env' }
  t.match(audit.body.data.slice(0, 3), [{ action: 'account.rotate_webhook_secret', target }, read, read])
  t.notMatch(audit.text, 'whsec_')
})

t.test('requests for one video may name servers of their own, also when it has ended', async t => {
  const { gateway, origin, arrived } = await start(t)
  const named = { 'idempotency-key': 'order 1' }
  const ask = async (path: string) => await create(gateway, { prompt: now, webhook_url: `${origin}${path}` }, named)
  const first = await ask('/1')
  t.equal((await ask('/1')).body.id, first.body.id)
  await arrived(1)
  await ended(gateway)
  t.equal((await ask('/2')).body.id, first.body.id)
  t.strictSame((await arrived(2)).map(({ path }) => path), ['/1', '/2'])
  for (let count = 3; count <= 10; count++) t.equal((await ask(`/${count}`)).status, 200)
  const { status, body: { error } } = await ask('/11')
  t.match([status, error.param, error.message], [400, 'webhook_url', /too many/])
  t.equal((await ask('/1')).status, 200, 'those it has are no others')
  t.match(await gateway.app.store.all('select count(*) as n from job'), [{ n: 1 }])
  t.strictSame(await gateway.app.store.all('select id from waiter'), [])
})

t.test('a chat request that prefers a job may name a webhook', async t => {
  const { gateway, origin, arrived } = await start(t)
  const body = {
    model: 'sandbox-video', messages: [{ role: 'user', content: now }], video: { seconds: 2, size: '64x36' }, webhook_url: `${origin}/chat`
  }
  const answer = await send(gateway, '/chat/completions', { headers: { ...json, prefer: 'respond-async' }, body: JSON.stringify(body) })
  t.equal(answer.status, 202)
  const [message] = await arrived(1)
  t.match([message?.path, JSON.parse(message?.body ?? '').data.id], ['/chat', answer.body.id])
})

t.test('a webhook that cannot be honoured is refused by its name', async t => {
  const { gateway, origin } = await start(t)
  const messages = [{ role: 'user', content: 'a' }]
  const url = `${origin}/hook`
  const cases: [string, object, Record<string, string>][] = [
    ['/chat/completions', { model: 'sandbox-video', messages }, {}],
    ['/chat/completions', { model: 'sandbox-chat', messages }, {}],
    ['/chat/completions', { model: 'sandbox-chat', messages }, { prefer: 'respond-async' }],
    ['/chat/completions', { model: 'sandbox-image', messages }, { prefer: 'respond-async' }],
    ['/chat/completions', { model: 'auto', messages, stream: true }, {}],
    ['/completions', { model: 'sandbox-chat', prompt: 'a' }, {}],
    ['/images/generations', { model: 'sandbox-image', prompt: 'a' }, {}],
    ['/responses', { model: 'sandbox-chat', input: 'a' }, {}]
  ]
  for (const [path, body, headers] of cases) {
    const sent = { headers: { ...json, ...headers }, body: JSON.stringify({ ...body, webhook_url: url }) }
    const { status, body: { error } } = await send(gateway, path, sent)
    t.match([status, error?.param, error?.type], [400, 'webhook_url', 'invalid_request_error'], `${path} ${JSON.stringify(body)}`)
  }
  const message = await send(gateway, '/messages', {
    headers: json, body: JSON.stringify({ model: 'sandbox-chat', messages, max_tokens: 9, webhook_url: url })
  })
  t.match([message.status, message.body.type, message.body.error.message], [400, 'error', /webhook_url/])
  const long = `https://a.example/${'a'.repeat(2048)}`
  for (const wrong of ['http://app.example/', 'https://127.0.0.1/', 'https://10.0.0.1/x', 'no address', '', 7, long]) {
    const { status, body: { error } } = await create(gateway, { prompt: 'a', webhook_url: wrong })
    t.match([status, error.param], [400, 'webhook_url'], String(wrong).slice(0, 40))
  }
  t.strictSame(await gateway.app.store.all('select id from job'), [])
  t.match(await gateway.app.ledger.balance('default'), { heldNano: 0 })
})
