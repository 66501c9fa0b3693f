import t from 'tap'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { insertJob } from './rows.ts'
import { adminKey, buildAdmin, type AdminGateway } from './helper.ts'

interface Scene extends AdminGateway {
  /** A user's key. */
  id: string
  job: string
  /** A charge that can be refunded. */
  entry: string
  /** Amounts in suspense. */
  suspense: { id: string }[]
}

type Request = readonly [path: string, body?: object]

/** A request that changes something, for every route that can. */
const changes: Record<string, (scene: Scene) => Request> = {
  // First, before the runner finds that no provider knows the job.
  'POST /jobs/{id}/cancel': ({ job }) => [`/jobs/${job}/cancel`],
  'POST /accounts': () => ['/accounts', { id: 'team' }],
  'PATCH /accounts/{id}': () => ['/accounts/default', { limits: { requests_per_minute: 5 } }],
  'POST /accounts/{id}/deposits': () => ['/accounts/default/deposits', { amount_usd: 1 }],
  'POST /accounts/{id}/refunds': ({ entry }) => ['/accounts/default/refunds', { entry }],
  'POST /accounts/{id}/adjustments': () => ['/accounts/default/adjustments', { amount_usd: 1, reason: 'r' }],
  'POST /accounts/{id}/withdrawals': () => ['/accounts/default/withdrawals', { amount_usd: 1, reason: 'r' }],
  'POST /accounts/{id}/transfers': () => ['/accounts/default/transfers', { to: 'team', amount_usd: 1 }],
  'POST /accounts/{id}/freeze': () => ['/accounts/team/freeze', { reason: 'r' }],
  'POST /accounts/{id}/unfreeze': () => ['/accounts/team/unfreeze'],
  'POST /accounts/{id}/close': () => ['/accounts/team/close', { take_out: true }],
  'POST /accounts/{id}/webhook-secret/rotate': () => ['/accounts/default/webhook-secret/rotate'],
  'POST /providers/{id}/probe': () => ['/providers/sandbox/probe'],
  'POST /keys': () => ['/keys', { account: 'default', label: 'new' }],
  'PATCH /keys/{id}': ({ id }) => [`/keys/${id}`, { label: 'changed' }],
  'POST /keys/{id}/rotate': ({ id }) => [`/keys/${id}/rotate`],
  'POST /keys/{id}/revoke': ({ id }) => [`/keys/${id}/revoke`],
  'POST /suspense/{id}/clear': ({ suspense }) => [`/suspense/${suspense[0]?.id}/clear`, { reason: 'r' }],
  'POST /suspense/{id}/write-off': ({ suspense }) => [`/suspense/${suspense[1]?.id}/write-off`, { reason: 'r' }]
}

/** Routes that change nothing, although their method is not GET. */
const readers = ['POST /ledger/check']

async function sceneOf (gateway: AdminGateway): Promise<Scene> {
  const { app, ask } = gateway
  const { id } = await app.keys.create({ account: 'default', label: 'a key' })
  const hold = await app.ledger.reserve({ id: 'r1', chain: ['default'], key: id, amountNano: 5 })
  await hold.settle({ amountNano: 5, ref: 'r1', model: 'chat', usage: {}, estimated: false })
  const { body: { data: [{ id: entry }] } } = await ask('GET', '/entries?kind=usage')
  for (const excess of ['e1', 'e2']) {
    const hold = await app.ledger.reserve({ id: excess, chain: ['default'], key: id, amountNano: 5 })
    await hold.settle({ amountNano: 7, ref: excess, model: 'chat', usage: {}, estimated: false })
  }
  const { body: { data: suspense } } = await ask('GET', '/suspense')
  return { ...gateway, id, entry, suspense, job: await insertJob(app.store, id, app.ledger.node) }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`every route that changes something leaves a line in the audit log (${engine})`, async t => {
    const scene = await sceneOf(await buildAdmin(t, engine))
    const { app, ask } = scene
    const paths = Object.entries(app.swagger().paths ?? {}).filter(([path]) => path.startsWith('/admin/'))
    const routes = paths.flatMap(([path, methods]) =>
      Object.keys(methods ?? {}).map(method => `${method.toUpperCase()} ${path.replace('/admin', '')}`))
    const writers = routes.filter(route => !route.startsWith('GET') && !readers.includes(route))
    t.same(writers.sort(), Object.keys(changes).sort(), 'each has a request in this test')

    for (const [route, requestOf] of Object.entries(changes)) {
      const [method = ''] = route.split(' ')
      const [path, body] = requestOf(scene)
      const newest = async () => (await ask('GET', '/audit?limit=1')).body.data[0]
      const before = await newest()
      const answer = await ask(method as 'POST', path, body ?? {})
      t.ok(answer.status < 300, `${route}: ${answer.text}`)
      const event = await newest()
      t.not(event.id, before.id, `${route} leaves a line`)
      t.match(event, { object: 'audit_event', actor: 'env', actor_label: null, target: /^(account|key|job|books|provider):/, at: /Z$/ })
    }
  })
}

t.test('a change is recorded with who made it, what it was before, and no secret', async t => {
  const { app, ask } = await buildAdmin(t, 'postgres')
  const operator = await app.keys.create({ account: 'default', label: 'Ada', role: 'owner' })
  const headers = { authorization: `Bearer ${operator.key}` }
  const { body: created } = await ask('POST', '/keys', { account: 'default', label: 'one' }, headers)
  await ask('PATCH', `/keys/${created.id}`, { label: 'two', budget: { amount_nano: 7 } }, headers)
  await ask('PATCH', `/keys/${created.id}`, { label: 'two' }, headers)
  const { body: rotated } = await ask('POST', `/keys/${created.id}/rotate`, {}, headers)
  const who = { actor: `key:${operator.id}`, actor_label: 'Ada', target: `key:${created.id}` }
  const { body, text } = await ask('GET', `/audit?target=key:${created.id}`)
  t.match(body.data, [
    { ...who, action: 'key.rotate', before: null, after: { previous_until: String } },
    { ...who, action: 'key.update' },
    { ...who, action: 'key.create', before: null, after: { label: 'one', account: 'default', role: 'user' } }
  ])
  t.equal(body.data.length, 3, 'a request that changes nothing leaves nothing')
  t.same(body.data[1].before, { label: 'one', budget: null })
  t.same(body.data[1].after, { label: 'two', budget: { amount_nano: 7, period: null } })
  const rows = JSON.stringify(await app.store.all('select * from audit'))
  for (const { key } of [created, rotated, operator]) {
    t.notMatch(text + rows, key.split('-').at(-1) ?? '')
  }

  await ask('POST', '/accounts/default/deposits', { id: 'd1', amount_usd: 1 }, headers)
  await ask('POST', '/accounts/default/deposits', { id: 'd1', amount_usd: 1 })
  const { body: deposits } = await ask('GET', '/audit?action=credit.deposit')
  t.match(deposits.data, [{ actor: who.actor, after: { entry: 'd1', amount_nano: 1e9 } }, { actor: 'gateway' }])
  t.equal(deposits.data.length, 2, 'a repeated posting leaves nothing')
  t.match((await ask('GET', '/entries')).body.data, [{ id: 'd1', actor: who.actor }, { id: 'starting-credit', actor: 'gateway' }])
})

t.test('the audit log is read by actor, action, target and time, page by page', async t => {
  const { ask } = await buildAdmin(t)
  for (const id of ['a', 'b', 'c']) await ask('POST', '/accounts', { id })
  const { body: first } = await ask('GET', '/audit?actor=env&limit=2')
  t.match(first, { data: [{ target: 'account:c' }, { target: 'account:b' }], has_more: true })
  t.match((await ask('GET', `/audit?actor=env&limit=2&after=${first.next}`)).body, { data: [{ target: 'account:a' }], has_more: false })
  t.match((await ask('GET', '/audit?actor=gateway')).body.data, [
    { action: 'key.create' }, { action: 'credit.deposit' }, { action: 'account.create' }
  ])
  t.same((await ask('GET', '/audit?to=2000-01-01')).body.data, [])
  t.match(await ask('GET', '/audit?after=x'), { status: 400, body: { error: { param: 'after' } } })
  t.match(await ask('GET', '/audit?actr=x'), { status: 400, body: { error: { param: 'actr' } } })
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`a change and its line stand or fall together, and no line can be changed (${engine})`, async t => {
    const { app, ask } = await buildAdmin(t, engine)
    for (const sql of ['update audit set actor = \'me\'', 'delete from audit']) {
      await t.rejects(app.store.run(sql), /append-only/)
    }
    const transaction = app.store.transaction.bind(app.store)
    t.intercept(app.store, 'transaction', {
      value: (work: Parameters<typeof transaction>[0]) => transaction(async queries => await work({
        ...queries,
        run: async (sql, params) => {
          if (sql.includes('into audit')) throw new StoreUnavailable(new Error('gone'))
          return await queries.run(sql, params)
        }
      }))
    })
    t.equal((await ask('POST', '/accounts', { id: 'lost' })).status, 503)
    t.equal((await ask('POST', '/accounts/default/deposits', { amount_usd: 1 })).status, 503)
    t.equal((await ask('GET', '/accounts/lost')).status, 404)
    t.match((await ask('GET', '/accounts/default')).body, { balance_usd: 10 })
  })
}

t.test('the admin key of the environment is not written down', async t => {
  const { app, ask } = await buildAdmin(t)
  await ask('POST', '/accounts', { id: 'a' })
  t.notMatch(JSON.stringify(await app.store.all('select * from audit')), adminKey)
})
