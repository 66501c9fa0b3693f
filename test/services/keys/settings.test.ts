import t from 'tap'
import { createKeys } from '../../../services/keys/keys.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { cachedRecord, setUp } from './helper.ts'

forEachEngine(t, 'a key may use all models, or those that one of its globs matches', async (t, database) => {
  const { keys, id, key } = await setUp(database)
  const all = await keys.authenticate(key)
  t.ok(all.mayUse('anything/at-all'))

  const cases: [string[], Record<string, boolean>][] = [
    [['gpt-4o'], { 'gpt-4o': true, 'gpt-4o-mini': false, 'openai/gpt-4o': false }],
    [['gpt-*', '*/claude-*'], { 'gpt-4o-mini': true, 'anthropic/claude-x': true, 'claude-x': false }],
    [['*'], { 'gpt-4o': true }],
    [[], { 'gpt-4o': false }]
  ]
  for (const [models, expected] of cases) {
    await keys.update(id, { models })
    const record = await keys.authenticate(key)
    t.same(record.models, models)
    for (const [model, may] of Object.entries(expected)) t.equal(record.mayUse(model), may, `${models}: ${model}`)
  }
  await keys.update(id, { models: null })
  t.ok((await keys.authenticate(key)).mayUse('gpt-4o'))
})

forEachEngine(t, 'an absent setting stays as it was, and repeating a change changes nothing', async (t, database) => {
  const { keys, time, id } = await setUp(database)
  const budget = { limitNano: 5, period: 'month' } as const
  const changed = await keys.update(id, { models: ['a'], budget, expiresAt: time.now + 10 })
  t.match(changed, { id, label: 'laptop', models: ['a'], budget, expiresAt: time.now + 10 })
  t.same(await keys.update(id, { label: 'server' }), { ...changed, label: 'server' })
  t.same(await keys.update(id, { label: 'server' }), { ...changed, label: 'server' })
  t.same(await keys.update(id, {}), await keys.get(id))
  t.match(await keys.update(id, { models: null, budget: null, expiresAt: null }),
    { label: 'server', models: null, budget: null, expiresAt: null })
})

forEachEngine(t, 'a change applies at once here, and within two seconds on other nodes', async (t, database) => {
  const { store, keys, time, clock, id, key } = await setUp(database)
  const elsewhere = createKeys(store, clock)
  for (const node of [keys, elsewhere]) t.ok((await node.authenticate(key)).mayUse('gpt-4o'))
  await keys.update(id, { models: ['sandbox-*'], expiresAt: time.now + 5_000 })
  t.notOk((await keys.authenticate(key)).mayUse('gpt-4o'))
  time.now += 2_000
  t.match(await elsewhere.authenticate(key), { expiresAt: time.now + 3_000 })
  t.notOk((await elsewhere.authenticate(key)).mayUse('gpt-4o'))
  time.now += 3_000
  await t.rejects(async () => await elsewhere.authenticate(key), { message: /has expired/ })
})

forEachEngine(t, 'concurrent changes do not undo each other', async (t, database) => {
  const { store, keys, clock, id } = await setUp(database)
  const elsewhere = createKeys(await database.open(), clock)
  for (let round = 0; round < 10; round++) {
    await keys.update(id, { label: '', models: null })
    await Promise.all([keys.update(id, { label: 'new' }), elsewhere.update(id, { models: ['a'] })])
    t.match(await createKeys(store, clock).get(id), { label: 'new', models: ['a'] })
  }
})

forEachEngine(t, 'wrong settings are refused and change nothing', async (t, database) => {
  const { keys, id } = await setUp(database)
  const before = await keys.get(id)
  const wrong: [string, object][] = [
    ['label', { label: 'x'.repeat(201) }],
    ['models', { models: [''] }],
    ['models', { models: ['x'.repeat(257)] }],
    ['models', { models: Array(101).fill('a') }],
    ['budget', { budget: { limitNano: -1, period: null } }],
    ['budget', { budget: { limitNano: 2 ** 53, period: null } }],
    ['budget', { budget: { limitNano: 1, period: 'year' } }],
    ['expires_at', { expiresAt: NaN }]
  ]
  for (const [param, settings] of wrong) {
    const refusal = { name: 'GatewayError', status: 400, param }
    await t.rejects(keys.update(id, settings), refusal, JSON.stringify(settings).slice(0, 60))
    await t.rejects(keys.create({ account: 'acme', label: '', ...settings }), refusal)
  }
  t.same(await keys.get(id), before)
  t.equal((await keys.list()).length, 1)
  await t.rejects(keys.update('unknown', {}), { status: 404, code: 'key_not_found' })
  await t.rejects(keys.get('unknown'), { status: 404, code: 'key_not_found' })
  await keys.revoke(id)
  await t.rejects(keys.update(id, { label: 'again' }), { status: 409, code: 'key_revoked' })
})

forEachEngine(t, 'a key of one role is refused where the other is required', async (t, database) => {
  const { keys, probe, key } = await setUp(database)
  const admin = await keys.create({ account: 'acme', label: 'operator', role: 'owner' })
  t.match(await keys.get(admin.id), { role: 'owner' })
  for (const attempt of ['first', 'cached']) {
    await t.rejects(async () => await keys.authenticate(admin.key),
      { status: 401, code: 'invalid_api_key', message: /is an admin key/ }, attempt)
    await t.rejects(async () => await keys.authenticateAdmin(key),
      { status: 401, code: 'invalid_api_key', message: /is not an admin key/ }, attempt)
    t.match(await keys.authenticateAdmin(admin.key), { id: admin.id, role: 'owner' })
    t.match(await keys.authenticate(key), { role: 'user' })
  }
  t.equal(await cachedRecord({ keys, probe }, admin.key), undefined)
  t.match(await cachedRecord({ keys, probe }, key), { role: 'user' })
})

forEachEngine(t, 'keys are listed by account, page by page', async (t, database) => {
  const { store, keys, time, clock, id } = await setUp(database)
  await createAccounts(store, clock).create({ id: 'other' })
  const created = [id]
  for (const account of ['other', 'acme', 'acme', 'acme']) {
    // Keys of the same millisecond are ordered by their ids.
    if (created.length % 2 === 1) time.now += 1
    created.push((await keys.create({ account, label: '' })).id)
  }
  const pages = []
  for (let after: string | null = null; ;) {
    const page = await keys.list({ after, limit: 2 })
    if (page.length === 0) break
    pages.push(page)
    after = page.at(-1)?.id ?? null
  }
  t.same(pages.map(({ length }) => length), [2, 2, 1])
  t.same(pages.flat(), await keys.list())
  t.same(pages.flat().map((key) => key.id).sort(), created.sort())
  t.equal((await keys.list({ account: 'acme' })).length, 4)
  t.same((await keys.list({ account: 'other' })).map(({ account }) => account), ['other'])
  t.same(await keys.list({ account: 'nobody' }), [])
})
