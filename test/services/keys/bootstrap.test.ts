import t from 'tap'
import { bootstrap } from '../../../services/keys/bootstrap.ts'
import { createKeys } from '../../../services/keys/keys.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import type { Database } from '../../helpers/engines.ts'

async function start (database: Database) {
  const store = await database.open()
  const keys = createKeys(store)
  const accounts = createAccounts(store)
  return { store, keys, accounts, startingCreditNano: 5_000_000_000 }
}

forEachEngine(t, 'the first start creates a key of an account with credit, later ones create none', async (t, database) => {
  const options = await start(database)
  const first = await bootstrap(options)
  t.match(await options.keys.authenticate(first?.key ?? ''), { account: 'default' })
  t.match(await options.accounts.balance('default'), { creditsNano: 5_000_000_000 })
  t.match(await options.store.all('select * from entry'), [
    { debit: 'funding', credit: 'default', amount: 5_000_000_000, kind: 'deposit' }
  ])
  t.equal(await bootstrap(options), null)
  t.match(await options.accounts.balance('default'), { creditsNano: 5_000_000_000 })
})

forEachEngine(t, 'a first start without credit books no entry', async (t, database) => {
  const options = { ...await start(database), startingCreditNano: 0 }
  t.ok(await bootstrap(options))
  t.same(await options.store.all('select idempotency_key as id from entry'), [])
})

forEachEngine(t, 'processes that start together create one key and one credit', async (t, database) => {
  const nodes = await Promise.all(Array.from({ length: 4 }, () => start(database)))
  const results = await Promise.all(nodes.map(bootstrap))
  t.equal(results.filter((result) => result !== null).length, 1)
  for (const { keys, accounts } of nodes) {
    t.equal((await keys.list()).length, 1)
    t.match(await accounts.balance('default'), { creditsNano: 5_000_000_000 })
  }
})

forEachEngine(t, 'nothing is created where the operator has created keys, even if all are revoked', async (t, database) => {
  const options = await start(database)
  await options.accounts.create({ id: 'acme' })
  const { id } = await options.keys.create({ account: 'acme', label: '' })
  await options.keys.revoke(id)
  t.equal(await bootstrap(options), null)
  t.same(await options.store.all('select id from account'), [{ id: 'acme' }])
})

forEachEngine(t, 'a failed first start leaves nothing behind, and the next one succeeds', async (t, database) => {
  const options = await start(database)
  await t.rejects(bootstrap({ ...options, startingCreditNano: 2 ** 53 }), RangeError)
  t.same(await options.store.all('select id from account'), [])
  t.ok(await bootstrap(options))
})
