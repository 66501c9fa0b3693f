import t from 'tap'
import { createDatabase } from '../../helpers/engines.ts'
import { buildGateway, configFor, providerAt, startGateway } from '../../helpers/gateway.ts'
import { pngOf } from '../../services/media/samples.ts'
import { refusal, startUpstream } from '../../servers/upstream.ts'
import { openBrowser } from '../console/browser.ts'
import { adminKey, asker } from './helper.ts'

const ask = { model: 'chat', messages: [{ role: 'user', content: 'Hi' }] }

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`images and videos that are kept are listed with their links, newest first (${engine})`, async t => {
    const { url: database } = await createDatabase(t, engine)
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: adminKey }
    const { app, url, key } = await startGateway(t, { env })
    const admin = asker(app)
    t.match(await admin('GET', '/media'), { status: 200, body: { data: [], has_more: false, next: null } })
    await app.accounts.create({ id: 'other', name: 'Other' })
    const ids: string[] = []
    for (const account of ['default', 'other', 'default']) {
      ids.unshift((await app.media.put(pngOf(4, 4), { kind: 'image', account })).id)
    }
    await app.store.run('update media set created_at = created_at + $2 where id = $1', [ids[0] ?? '', 5])
    const expired = await app.media.put(pngOf(2, 2), { kind: 'image', account: 'default', retentionMs: -1 })
    const list = await admin('GET', '/media?limit=2')
    const rest = await admin('GET', `/media?limit=2&after=${list.body.next}`)
    const all = [...list.body.data, ...rest.body.data]
    t.same(all.map(({ id }) => id).sort(), [...ids].sort())
    t.equal(all[0].id, ids[0])
    t.notOk(all.some(({ id }) => id === expired.id))
    t.match(all[0], { object: 'media', kind: 'image', mime_type: 'image/png', account: 'default', job: null, width: 4, height: 4 })
    const path = new URL(all[0].url)
    const file = await fetch(new URL(path.pathname + path.search, url))
    t.equal((await file.arrayBuffer()).byteLength, all[0].bytes)
    t.equal((await admin('GET', '/media?account=other')).body.data.length, 1)
    t.equal((await admin('GET', '/media?kind=video')).body.data.length, 0)
    const browser = openBrowser(url)
    await browser.signIn(key)
    t.equal((await browser.ask('GET', '/admin/media')).body.data.length, 2, 'a user sees their own')
    t.equal((await browser.ask('GET', '/admin/media?account=other')).status, 403)
  })

  t.test(`providers show how their calls went on all nodes (${engine})`, async t => {
    const upstream = await startUpstream()
    t.teardown(() => upstream.close())
    const { url: database } = await createDatabase(t, engine)
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: adminKey }
    const config = configFor(providerAt(upstream.url))
    const one = await buildGateway(t, { env, config })
    const { key } = await one.app.keys.create({ account: 'default', label: '' })
    const other = await buildGateway(t, { env, config })
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const call = async () => await one.app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload: ask })
    t.match((await asker(one.app)('GET', '/providers')).body.data, [{ id: 'up', state: 'unused', calls: 0, last_failure: null }])
    for (let count = 0; count < 3; count++) await call()
    upstream.script(refusal(500, { message: 'the disk is full' }))
    t.equal((await call()).statusCode, 502)
    await one.app.flushRequestLog()
    for (const [node, state] of [[one, 'ready'], [other, null]] as const) {
      const { status, body, text } = await asker(node.app)('GET', '/providers')
      t.equal(status, 200)
      t.match(body.data, [{
        object: 'provider',
        id: 'up',
        protocol: 'openai',
        base_url: upstream.url,
        models: 1,
        state: 'ready',
        calls: 4,
        failed_calls: 1,
        p50_ms: Number,
        p95_ms: Number,
        failures: [{ count: 1 }],
        last_failure: { model: 'gpt-5-nano', status: 500, words: /the disk is full/ },
        deployments: [{ model: 'gpt-5-nano', state, calls: 4, failed_calls: 1 }]
      }])
      t.notMatch(text, 'sk-upstream-secret')
    }
  })
}

t.test('a provider is tried now, and its breaker lets the next request through', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const config = configFor(providerAt(upstream.url))
  const { app } = await buildGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey }, config })
  const admin = asker(app)
  const { breaker } = app.deployments.of({ provider: 'up', model: 'gpt-5-nano' })
  breaker.trip(performance.now())
  t.match((await admin('GET', '/providers')).body.data, [{ state: 'open' }])
  t.match(await admin('POST', '/providers/up/probe'), {
    status: 200, body: { object: 'provider_probe', provider: 'up', reachable: true, models: 3, failure: null }
  })
  t.equal(breaker.state(performance.now()), 'ready')
  upstream.models(refusal(503, { message: 'closed' }))
  breaker.trip(performance.now())
  t.match((await admin('POST', '/providers/up/probe')).body, { reachable: false, models: null, failure: { kind: 'overloaded' } })
  t.equal(breaker.state(performance.now()), 'open')
  t.match(await admin('POST', '/providers/none/probe'), { status: 404, body: { error: { code: 'provider_not_found' } } })
  const { body } = await admin('GET', '/audit?target=provider:up')
  t.same(body.data.map(({ after }: { after: object }) => after), [{ reachable: false }, { reachable: true }])
})

t.test('what happens now is streamed until the right to see it ends', async t => {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close())
  const { app, url, headers } = await startGateway(t, {
    env: { TOLLGATE_ADMIN_KEY: adminKey }, config: configFor(providerAt(upstream.url))
  })
  t.equal((await fetch(`${url}/chat/completions`, { method: 'POST', headers, body: JSON.stringify(ask) })).status, 200)
  await app.flushRequestLog()
  const { id, key } = await app.keys.create({ account: 'default', label: '', role: 'viewer' })
  const browser = openBrowser(url)
  await browser.signIn(key)
  const answer = await fetch(new URL('/admin/live', url), { headers: { cookie: browser.cookie } })
  t.match([answer.status, answer.headers.get('content-type')], [200, /^text\/event-stream/])
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  const { value = '' } = await reader?.read() ?? {}
  t.match(value, /^retry: 2000\n\ndata: \{.*\}\n\n$/)
  t.match(JSON.parse(value.slice(value.indexOf('{'))), {
    object: 'live',
    requests_per_second: 1 / 60,
    error_rate: 0,
    running_jobs: 0,
    waiting_clients: 0,
    spent_today_nano: 0,
    node: { streams: 0, polls: 0 },
    providers: [{ id: 'up', state: 'ready' }]
  })
  await app.keys.revoke(id)
  let end = await reader?.read()
  while (end?.done === false) end = await reader?.read()
  t.equal(end?.done, true, 'the stream ends with the key')
  const user = await app.keys.create({ account: 'default', label: '' })
  await browser.signIn(user.key)
  t.equal((await browser.ask('GET', '/admin/live')).status, 403)
})

t.test('a job shows when it took its steps', async t => {
  const { app, headers } = await buildGateway(t, { env: { TOLLGATE_ADMIN_KEY: adminKey } })
  const payload = {
    model: 'sandbox-video', messages: [{ role: 'user', content: 'a\nsandbox:delay 0' }], video: { seconds: 2, size: '320x180' }
  }
  t.equal((await app.inject({ method: 'POST', url: '/v1/chat/completions', headers, payload })).statusCode, 200)
  const admin = asker(app)
  const [{ id }] = (await admin('GET', '/jobs')).body.data
  const { body } = await admin('GET', `/jobs/${id}`)
  const steps = body.timeline.map(({ step }: { step: string }) => step)
  t.same(new Set(steps), new Set(['created', 'submitted', 'polled', 'stored', 'finished', 'charged', 'expires']))
  t.same([steps[0], steps.at(-1)], ['created', 'expires'])
  t.ok(steps.indexOf('submitted') < steps.indexOf('polled') && steps.indexOf('polled') < steps.indexOf('stored'))
  const ref = (name: string): string => body.timeline.find(({ step }: { step: string }) => step === name).ref
  t.equal(ref('stored'), body.videos[0].media)
  t.ok((await admin('GET', '/entries')).body.data.some((entry: { id: string }) => entry.id === ref('charged')))
})
