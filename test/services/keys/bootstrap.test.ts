import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { bootstrap } from '../../../services/keys/bootstrap.ts'
import { createKeys } from '../../../services/keys/keys.ts'
import { createAccounts } from '../../../services/ledger/accounts.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'

async function start (t: Test, path: string) {
  const store = await openSqlite(path)
  t.teardown(() => store.close())
  const keys = createKeys(store)
  const accounts = createAccounts(store)
  return { store, keys, accounts, startingCreditNano: 5_000_000_000 }
}

t.test('the first start gives a key of an account with credit, later ones none', async (t) => {
  const options = await start(t, ':memory:')
  const first = await bootstrap(options)
  t.match(await options.keys.authenticate(first?.key ?? ''), { account: 'default' })
  t.match(await options.accounts.balance('default'), { creditsNano: 5_000_000_000 })
  t.match(await options.store.all('select * from entry'), [
    { debit: 'funding', credit: 'default', amount: 5_000_000_000, kind: 'deposit' }
  ])
  t.equal(await bootstrap(options), null)
  t.match(await options.accounts.balance('default'), { creditsNano: 5_000_000_000 })
})

t.test('a start without credit makes no entry', async (t) => {
  const options = { ...await start(t, ':memory:'), startingCreditNano: 0 }
  t.ok(await bootstrap(options))
  t.same(await options.store.all('select id from entry'), [])
})

t.test('processes that start at once create one key and one credit', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  const nodes = await Promise.all([start(t, path), start(t, path), start(t, path)])
  const results = await Promise.all(nodes.map(bootstrap))
  t.equal(results.filter((result) => result !== null).length, 1)
  for (const { keys, accounts } of nodes) {
    t.equal((await keys.list()).length, 1)
    t.match(await accounts.balance('default'), { creditsNano: 5_000_000_000 })
  }
})

t.test('where the operator has made keys nothing is added, even when all are revoked', async (t) => {
  const options = await start(t, ':memory:')
  await options.accounts.create({ id: 'acme' })
  const { id } = await options.keys.create({ account: 'acme', label: '' })
  await options.keys.revoke(id)
  t.equal(await bootstrap(options), null)
  t.same(await options.store.all('select id from account'), [{ id: 'acme' }])
})

t.test('a first start that fails leaves nothing, and the next one succeeds', async (t) => {
  const options = await start(t, ':memory:')
  await t.rejects(bootstrap({ ...options, startingCreditNano: 2 ** 53 }), RangeError)
  t.same(await options.store.all('select id from account'), [])
  t.ok(await bootstrap(options))
})
