import t from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'

async function setUp (database: Database) {
  const store = await database.open()
  const accounts = createAccounts(store, () => 1_000)
  await accounts.create({ id: 'acme' })
  return { store, accounts }
}

forEachEngine(t, 'a new account has nothing', async (t, database) => {
  const { store, accounts } = await setUp(database)
  t.equal(await accounts.create({ id: 'team', name: 'The team', parent: 'acme' }), true)
  t.same(await accounts.balance('team'), { creditsNano: 0, spentNano: 0, heldNano: 0 })
  t.match(await store.get("select * from account where id = 'team'"),
    { name: 'The team', parent: 'acme', currency: 'usd', created_at: 1_000 })
})

forEachEngine(t, 'creating an account again is a no-op', async (t, database) => {
  const { store, accounts } = await setUp(database)
  t.equal(await accounts.create({ id: 'acme', name: 'Another name' }), false)
  t.same(await store.get('select name from account'), { name: 'acme' })
})

forEachEngine(t, 'reserved and malformed ids are refused', async (t, database) => {
  const { accounts } = await setUp(database)
  for (const id of ['funding', 'revenue', 'suspense', '', '-x', 'a b', 'x'.repeat(129)]) {
    await t.rejects(accounts.create({ id }), { name: 'GatewayError', status: 400, param: 'id', message: /1 to 128 letters, digits and/ }, id)
  }
})

forEachEngine(t, 'a deposit is one entry and the credits of one account', async (t, database) => {
  const { store, accounts } = await setUp(database)
  await accounts.create({ id: 'other' })
  t.equal(await accounts.deposit({ id: 'd1', account: 'acme', amountNano: 5_000_000_000, at: 42 }), true)
  t.same(await accounts.balance('acme'), { creditsNano: 5_000_000_000, spentNano: 0, heldNano: 0 })
  t.match(await accounts.balance('other'), { creditsNano: 0 })
  t.match(await store.all('select * from entry'), [
    { idempotency_key: 'd1', at: 42, debit: 'funding', credit: 'acme', amount: 5_000_000_000, kind: 'deposit' }
  ])
})

forEachEngine(t, 'repeating a deposit is a no-op, also concurrently', async (t, database) => {
  const { store, accounts } = await setUp(database)
  const deposit = { id: 'd1', account: 'acme', amountNano: 7 }
  t.same((await Promise.all([accounts.deposit(deposit), accounts.deposit(deposit)])).sort(), [false, true])
  t.equal(await accounts.deposit({ ...deposit, at: 99 }), false)
  t.match(await accounts.balance('acme'), { creditsNano: 7 })
  t.same(await store.all('select idempotency_key as id from entry'), [{ id: 'd1' }])
})

forEachEngine(t, 'the id of one deposit cannot be used for another', async (t, database) => {
  const { accounts } = await setUp(database)
  await accounts.create({ id: 'other' })
  await accounts.deposit({ id: 'd1', account: 'acme', amountNano: 7 })
  const conflict = { status: 409, code: 'idempotency_conflict' }
  await t.rejects(accounts.deposit({ id: 'd1', account: 'acme', amountNano: 8 }), conflict)
  await t.rejects(accounts.deposit({ id: 'd1', account: 'other', amountNano: 7 }), conflict)
  t.match(await accounts.balance('acme'), { creditsNano: 7 })
})

forEachEngine(t, 'amounts that are not positive safe integers are refused', async (t, database) => {
  const { accounts } = await setUp(database)
  for (const amountNano of [0, -1, 0.5, NaN, 2 ** 53]) {
    await t.rejects(accounts.deposit({ id: 'd1', account: 'acme', amountNano }), RangeError, String(amountNano))
  }
})

forEachEngine(t, 'a deposit that would exceed the safe integers is rolled back', async (t, database) => {
  const { store, accounts } = await setUp(database)
  await accounts.deposit({ id: 'd1', account: 'acme', amountNano: Number.MAX_SAFE_INTEGER - 1 })
  await t.rejects(accounts.deposit({ id: 'd2', account: 'acme', amountNano: 2 }), RangeError)
  t.same(await store.all('select idempotency_key as id from entry'), [{ id: 'd1' }])
  t.equal(await accounts.deposit({ id: 'd3', account: 'acme', amountNano: 1 }), true)
  t.match(await accounts.balance('acme'), { creditsNano: Number.MAX_SAFE_INTEGER })
})

forEachEngine(t, 'an unknown account has no balance and takes no deposit', async (t, database) => {
  const { store, accounts } = await setUp(database)
  const unknown = { status: 404, code: 'account_not_found' }
  await t.rejects(accounts.balance('nobody'), unknown)
  await t.rejects(accounts.deposit({ id: 'd1', account: 'nobody', amountNano: 1 }), unknown)
  t.same(await store.all('select idempotency_key as id from entry'), [])
})

forEachEngine(t, 'a deposit within the caller\'s transaction is rolled back with it', async (t, database) => {
  const { store, accounts } = await setUp(database)
  await t.rejects(store.transaction(async (queries) => {
    await accounts.create({ id: 'new' }, queries)
    await accounts.deposit({ id: 'd1', account: 'new', amountNano: 1 }, queries)
    throw new Error('undone')
  }), { message: 'undone' })
  t.same(await store.all('select idempotency_key as id from entry'), [])
  await t.rejects(accounts.balance('new'), { code: 'account_not_found' })
})

forEachEngine(t, 'a parent must exist, and may have at most three parents of its own', async (t, database) => {
  const { accounts } = await setUp(database)
  const line = ['acme', 'division', 'team', 'group', 'person']
  for (const [index, parent] of line.slice(0, -1).entries()) {
    t.equal(await accounts.create({ id: line[index + 1] ?? '', parent }), true)
  }
  const refusal = { name: 'GatewayError', status: 400, param: 'parent' }
  await t.rejects(accounts.create({ id: 'too-deep', parent: 'person' }), { ...refusal, message: /at most 4 parents/ })
  for (const parent of ['nobody', 'own', '']) {
    await t.rejects(accounts.create({ id: 'own', parent }), { ...refusal, message: /does not exist/ }, parent)
  }
  t.equal(await accounts.create({ id: 'beside', parent: 'group' }), true)
})
