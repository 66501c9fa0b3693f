import t from 'tap'
import type { Test } from 'tap'
import { bootstrap } from '../../../services/keys/bootstrap.ts'
import { createKeys } from '../../../services/keys/keys.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { openPostgres } from '../../../services/store/postgres.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Queries } from '../../../services/store/store.ts'
import { startPostgres } from '../../helpers/postgres.ts'

const server = await startPostgres(t)

/** A log that keeps the warnings, and the first of them as a promise. */
function createLog () {
  const { promise: warning, resolve } = Promise.withResolvers<string>()
  const warn = (_details: object, message: string) => resolve(message)
  return { log: { info: () => {}, warn, error: () => {} }, warning }
}

async function open (t: Test) {
  const { log, warning } = createLog()
  const store = await openPostgres(await server.createSchema(), { log })
  t.teardown(() => store.close())
  await store.run('create table note (id bigint primary key)')
  return { store, warning }
}

const ids = (queries: Queries) => queries.all('select id from note order by id')

t.test('a killed server is unavailable, and used again once it is back', async (t) => {
  const { store, warning } = await open(t)
  await store.run('insert into note (id) values (1)')
  await Promise.all(Array.from({ length: 5 }, () => ids(store)))
  await server.kill()
  await t.rejects(ids(store), StoreUnavailable)
  await t.rejects(store.run('insert into note (id) values (2)'), StoreUnavailable)
  await t.rejects(store.transaction(async () => 1), StoreUnavailable)
  t.equal(await warning, 'an idle connection to Postgres was lost')

  await server.start()
  t.same(await ids(store), [{ id: 1 }], 'the very next statement')
  t.equal(await store.run('insert into note (id) values (2)'), 1)
  t.equal(await store.transaction(async () => 1), 1)
})

t.test('a transaction during which the server is killed is unavailable and rolled back', async (t) => {
  const { store } = await open(t)
  const begun = Promise.withResolvers<void>()
  const killed = Promise.withResolvers<void>()
  const transaction = store.transaction(async (queries) => {
    await queries.run('insert into note (id) values (1)')
    begun.resolve()
    await killed.promise
    return 'done'
  })
  await begun.promise
  const results = Promise.allSettled([transaction, store.get('select pg_sleep(60)')])
  await server.kill()
  killed.resolve()
  for (const result of await results) {
    t.ok(result.status === 'rejected' && result.reason instanceof StoreUnavailable)
  }
  await server.start()
  t.same(await ids(store), [])
})

t.test('connections terminated by an operator are replaced', async (t) => {
  const { store } = await open(t)
  const { store: operator } = await open(t)
  const begun = Promise.withResolvers<void>()
  const ended = t.rejects(store.transaction(async (queries) => {
    await queries.run('insert into note (id) values (1)')
    begun.resolve()
    await queries.get('select pg_sleep(60)')
  }), StoreUnavailable)
  await begun.promise
  await operator.all('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()')
  await ended
  t.same(await ids(store), [])
})

t.test('a deposit repeated after an outage is booked once', async (t) => {
  const { store } = await open(t)
  const accounts = createAccounts(store)
  const keys = createKeys(store)
  await bootstrap({ store, keys, accounts, startingCreditNano: 5 })
  const deposit = { id: 'd1', account: 'default', amountNano: 7 }
  await accounts.deposit(deposit)
  await server.kill()
  await t.rejects(accounts.deposit(deposit), StoreUnavailable)
  await server.start()
  t.equal(await accounts.deposit(deposit), false)
  t.match(await accounts.balance('default'), { creditsNano: 12 })
})

t.test('start-up waits for the server', async (t) => {
  const url = await server.createSchema()
  const { log, warning } = createLog()
  await server.kill()
  const opening = openPostgres(url, { log })
  t.match(await warning, /^Postgres at 127\.0\.0\.1:\d+ cannot be reached: connect ECONNREFUSED .*; trying again$/)
  await server.start()
  const store = await opening
  t.teardown(() => store.close())
  t.same(await store.all('select id from account'), [])
})

t.test('start-up gives up after a while', async (t) => {
  const url = await server.createSchema()
  await server.kill()
  t.teardown(() => server.start())
  await t.rejects(openPostgres(url, { log: createLog().log, startTimeoutMs: 1 }), {
    name: 'StoreUnavailable', message: /cannot be reached: connect ECONNREFUSED/
  })
})
