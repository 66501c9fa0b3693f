import t from 'tap'
import { createKeys } from '../../../services/keys/keys.ts'
import { createToken } from '../../../services/keys/authenticate.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { noLimits } from '../../../services/shared/limits.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { selectKeyVersion } from '../../../services/keys/rows.ts'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { cachedRecord, setUp } from './helper.ts'

forEachEngine(t, 'a created key authenticates', async (t, database) => {
  const { keys, id, key } = await setUp(database)
  const record = await keys.authenticate(key)
  const settings = { label: 'laptop', models: null, budget: null, expiresAt: null }
  t.match(record, { id, role: 'user', account: 'acme', ...settings, revokedAt: null })
  t.ok(Object.isFrozen(record))
})

forEachEngine(t, 'the store keeps only the hash of the secret', async (t, database) => {
  const { store, key } = await setUp(database)
  const rows = JSON.stringify(await store.all('select * from api_key'))
  t.notMatch(rows, key.split('-')[3])
  t.match(rows, /"secret_sha256":"[0-9a-f]{64}"/)
})

forEachEngine(t, 'a key looked up within the last second authenticates without a query', async (t, database) => {
  const { keys, probe, time, key } = await setUp(database)
  await keys.authenticate(key)
  time.now += 999
  t.match(await keys.authenticate(key), { account: 'acme' })
  t.equal(probe.queries, 1)
  time.now += 1
  t.match(await keys.authenticate(key), { account: 'acme' })
  t.equal(probe.queries, 3, 'once more, as the version of all keys was not known before')
  time.now += 1_000
  t.match(await keys.authenticate(key), { account: 'acme' })
  t.equal(probe.queries, 4)
})

forEachEngine(t, 'a wrong secret is refused, even when the key is cached', async (t, database) => {
  const { keys, probe, id, key } = await setUp(database)
  const wrong = `sk-tg-${id}-${createToken().secret}`
  const refusal = {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    headers: { 'www-authenticate': 'Bearer' },
    message: `Incorrect API key provided: sk-tg-${id.slice(0, 2)}****${wrong.slice(-4)}. ` +
      'Ask the operator of this gateway for a valid key.'
  }
  await t.rejects(async () => await keys.authenticate(wrong), refusal)
  await keys.authenticate(key)
  const before = probe.queries
  const flood = Array.from({ length: 100 }, async () => await keys.authenticate(wrong))
  for (const attempt of flood) await t.rejects(attempt, refusal)
  t.ok(probe.queries <= before + 2, 'the secret may be new, so the database is queried, once for all of them')
  t.equal(await cachedRecord({ keys, probe }, wrong), undefined)
  t.match(await cachedRecord({ keys, probe }, key), { id })
})

forEachEngine(t, 'a malformed key is refused without a query', async (t, database) => {
  const { keys, probe } = await setUp(database)
  await t.rejects(keys.authenticate(''), { status: 401, code: null, message: /^You didn't provide an API key/ })
  await t.rejects(keys.authenticate('sk-proj-something-of-another-provider'),
    { status: 401, code: 'invalid_api_key', message: /provided: sk-proj-\*\*\*\*ider\./ })
  t.equal(probe.queries, 0)
})

forEachEngine(t, 'an unknown key is looked up once a second', async (t, database) => {
  const { keys, probe, time } = await setUp(database)
  const { key } = createToken()
  const unknown = { status: 401, code: 'invalid_api_key', message: /^Incorrect API key/ }
  await t.rejects(async () => await keys.authenticate(key), unknown)
  await t.rejects(keys.authenticate(key), unknown)
  t.equal(probe.queries, 1)
  time.now += 1_000
  await t.rejects(async () => await keys.authenticate(key), unknown)
  t.equal(probe.queries, 2)
})

forEachEngine(t, 'a flood of made-up keys costs few queries and evicts no valid key', async (t, database) => {
  const { keys, probe, key } = await setUp(database)
  await keys.authenticate(key)
  const flood = Array.from({ length: 9_000 }, async () => await keys.authenticate(createToken().key))
  const results = await Promise.allSettled(flood)
  t.ok(results.every(({ status }) => status === 'rejected'))
  t.ok(probe.queries < 200, `${probe.queries} queries`)
  t.ok(await cachedRecord({ keys, probe }, key))
})

forEachEngine(t, 'concurrent requests with one key share one query', async (t, database) => {
  const { keys, probe, key } = await setUp(database)
  const records = await Promise.all(Array.from({ length: 50 }, () => keys.authenticate(key)))
  t.equal(new Set(records).size, 1)
  t.equal(probe.queries, 1)
})

forEachEngine(t, 'many keys looked up at once each get their own record', async (t, database) => {
  const { keys } = await setUp(database)
  const created = await Promise.all(Array.from({ length: 120 }, (_, index) =>
    keys.create({ account: 'acme', label: `key ${index}` })))
  const records = await Promise.all(created.map(({ key }) => keys.authenticate(key)))
  t.same(records.map(({ id }) => id), created.map(({ id }) => id))
})

forEachEngine(t, 'a revoked key stops working at once here, and within a second on other nodes', async (t, database) => {
  const { store, keys, time, clock, id, key } = await setUp(database)
  const elsewhere = createKeys(store, clock)
  await Promise.all([keys.authenticate(key), elsewhere.authenticate(key)])
  t.equal(await keys.revoke(id), true)
  t.equal(await keys.revoke(id), false)
  const revoked = { status: 401, code: 'invalid_api_key', message: /has been revoked: sk-tg-..\*\*\*\*/ }
  await t.rejects(async () => await keys.authenticate(key), revoked)
  await t.rejects(keys.authenticate(key), revoked)
  time.now += 1_000
  await t.rejects(async () => await elsewhere.authenticate(key), revoked)
})

forEachEngine(t, 'unchanged keys cost one query a second together, whatever is charged', async (t, database) => {
  const { store, keys, probe, time, clock } = await setUp(database)
  const created = await Promise.all(Array.from({ length: 60 }, () => keys.create({ account: 'acme', label: '' })))
  const authenticateAll = async () => {
    return await Promise.all(created.map(async ({ key }) => await keys.authenticate(key)))
  }
  await authenticateAll()
  time.now += 1_000
  await authenticateAll()
  const before = probe.queries
  for (let second = 1; second <= 3; second++) {
    time.now += 1_000
    await store.run('update account set spent = spent + 1, held = held + 1 where id = $1', ['acme'])
    await authenticateAll()
    await authenticateAll()
    t.equal(probe.queries, before + second)
  }
  await createAccounts(store, clock).freeze('acme')
  time.now += 1_000
  t.same(new Set((await authenticateAll()).map(({ accountState }) => accountState)), new Set(['frozen']))
})

forEachEngine(t, 'whatever a key in memory depends on counts as a change of keys', async (t, database) => {
  const { store } = await setUp(database)
  const isCounted = async (table: string, column: string): Promise<boolean> => {
    const before = await selectKeyVersion(store)
    await store.run(`update ${table} set ${column} = ${column}`)
    return await selectKeyVersion(store) > before
  }
  const counted = async (table: string): Promise<string[]> => {
    const [row = {}] = await store.all<object>(`select * from ${table} where id is not null limit 1`)
    const columns = Object.keys(row).filter(column => column !== 'id')
    return await Array.fromAsync(columns, async column => await isCounted(table, column) ? column : '')
  }
  const [row = {}] = await store.all<object>('select * from api_key limit 1')
  const columns = Object.keys(row)
  t.same((await counted('api_key')).filter(Boolean).toSorted(),
    columns.filter(column => !['id', 'created_at', 'last_used_at'].includes(column)).toSorted())
  t.same((await counted('account')).filter(Boolean).toSorted(), [
    'closed_at', 'concurrent_requests', 'frozen_at', 'parent', 'requests_per_minute', 'tokens_per_minute'
  ])
})

t.test('a transaction that changes a key does not keep others from changing theirs until it ends', async t => {
  const { store, keys, id } = await setUp(await createDatabase(t, 'postgres'))
  const { id: other } = await keys.create({ account: 'acme', label: '' })
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const sql = "update api_key set label = 'new' where id = $1"
  await Promise.all([
    store.transaction(async queries => {
      // On a busy machine this takes longer than a connection may idle.
      await queries.run('set local idle_in_transaction_session_timeout = 0')
      await queries.run(sql, [id])
      first.resolve()
      await second.promise
      await queries.run(sql, [other])
    }),
    store.transaction(async queries => {
      await first.promise
      await queries.run(sql, [other])
      second.resolve()
    })
  ])
  t.equal((await keys.get(other)).label, 'new')
})

forEachEngine(t, 'after a clock was set back, a key is looked up once', async (t, database) => {
  const { keys, probe, time, key } = await setUp(database)
  await keys.authenticate(key)
  time.now += 1_000
  await keys.authenticate(key)
  time.now -= 3_600_000
  t.match(await keys.authenticate(key), { account: 'acme' })
  t.ok(await cachedRecord({ keys, probe }, key))
})

forEachEngine(t, 'a clock that is set back does not keep a revoked key alive', async (t, database) => {
  const { store, keys, time, clock, id, key } = await setUp(database)
  await keys.authenticate(key)
  await createKeys(store, clock).revoke(id)
  time.now -= 3_600_000
  await t.rejects(async () => await keys.authenticate(key), { message: /has been revoked/ })
})

forEachEngine(t, 'a cached key expires to the millisecond', async (t, database) => {
  const { keys, time } = await setUp(database)
  const { key } = await keys.create({ account: 'acme', label: '', expiresAt: time.now + 500 })
  t.match(await keys.authenticate(key), { expiresAt: time.now + 500 })
  time.now += 499
  t.match(await keys.authenticate(key), { account: 'acme' })
  time.now += 1
  await t.rejects(keys.authenticate(key), { status: 401, code: 'invalid_api_key', message: /has expired/ })
})

forEachEngine(t, 'during an outage a recently used key works for a minute, and an unknown one is not refused', async (t, database) => {
  const { keys, probe, time, key } = await setUp(database)
  await keys.authenticate(key)
  probe.down = true
  time.now += 60_000
  t.match(await keys.authenticate(key), { account: 'acme' })
  const asked = probe.queries
  t.match(await keys.authenticate(key), { account: 'acme' })
  t.equal(probe.queries, asked, 'the database is not queried for each request')
  await t.rejects(async () => await keys.authenticate(createToken().key), StoreUnavailable)

  time.now += 1_000
  await t.rejects(async () => await keys.authenticate(key), StoreUnavailable)
  probe.down = false
  t.match(await keys.authenticate(key), { account: 'acme' })
})

forEachEngine(t, 'the time of a key\'s last use is recorded, to the minute', async (t, database) => {
  const { keys, probe, time, id, key } = await setUp(database)
  const lastUsedAt = async () => {
    await probe.written
    return (await keys.list()).find((listed) => listed.id === id)?.lastUsedAt
  }
  t.equal(await lastUsedAt(), null)
  const first = time.now
  await keys.authenticate(key)
  t.equal(await lastUsedAt(), first)
  time.now += 59_999
  await keys.authenticate(key)
  t.equal(await lastUsedAt(), first)
  time.now += 1
  await keys.authenticate(key)
  t.equal(await lastUsedAt(), time.now)
})

forEachEngine(t, 'keys are listed newest first, without their secrets', async (t, database) => {
  const { keys, time, id } = await setUp(database)
  time.now += 1
  const newer = await keys.create({ account: 'acme', label: 'server', expiresAt: 2_000_000 })
  await keys.revoke(id)
  const common = {
    role: 'user', account: 'acme', models: null, regions: null, budget: null, previousUntil: null, lastUsedAt: null, limits: noLimits
  }
  t.same(await keys.list(), [
    { ...common, id: newer.id, label: 'server', createdAt: time.now, expiresAt: 2_000_000, revokedAt: null },
    { ...common, id, label: 'laptop', createdAt: time.now - 1, expiresAt: null, revokedAt: time.now }
  ])
  t.equal((await keys.list({ limit: 1 })).length, 1)
})

forEachEngine(t, 'a key needs an existing account and valid fields', async (t, database) => {
  const { keys } = await setUp(database)
  await t.rejects(keys.create({ account: 'nobody', label: '' }), { name: 'GatewayError', status: 400, param: 'account' })
  await t.rejects(keys.create({ account: 'acme', label: 'x'.repeat(201) }),
    { name: 'GatewayError', status: 400, param: 'label' })
  await t.rejects(keys.create({ account: 'acme', label: '', expiresAt: 0.5 }),
    { name: 'GatewayError', status: 400, param: 'expires_at' })
})
