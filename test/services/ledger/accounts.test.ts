import t from 'tap'
import type { Test } from 'tap'
import { createAccounts } from '../../../services/ledger/accounts.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'

async function setUp (t: Test) {
  const store = await openSqlite(':memory:')
  t.teardown(() => store.close())
  const accounts = createAccounts(store, () => 1_000)
  await accounts.create({ id: 'acme' })
  return { store, accounts }
}

t.test('a new account has nothing', async (t) => {
  const { store, accounts } = await setUp(t)
  t.equal(await accounts.create({ id: 'team', name: 'The team', parent: 'acme' }), true)
  t.same(await accounts.balance('team'), { creditsNano: 0, spentNano: 0, heldNano: 0 })
  t.match(await store.get("select * from account where id = 'team'"),
    { name: 'The team', parent: 'acme', currency: 'usd', created_at: 1_000 })
})

t.test('creating an account again changes nothing', async (t) => {
  const { store, accounts } = await setUp(t)
  t.equal(await accounts.create({ id: 'acme', name: 'Another name' }), false)
  t.same(await store.get('select name from account'), { name: 'acme' })
})

t.test('ids that would confuse the books are refused', async (t) => {
  const { accounts } = await setUp(t)
  for (const id of ['funding', 'revenue', 'suspense', '', '-x', 'a b', 'x'.repeat(129)]) {
    await t.rejects(accounts.create({ id }), { name: 'GatewayError', status: 400, param: 'id' }, id)
  }
})

t.test('a deposit is one entry and the credits of one account', async (t) => {
  const { store, accounts } = await setUp(t)
  await accounts.create({ id: 'other' })
  t.equal(await accounts.deposit({ id: 'd1', account: 'acme', amountNano: 5_000_000_000, at: 42 }), true)
  t.same(await accounts.balance('acme'), { creditsNano: 5_000_000_000, spentNano: 0, heldNano: 0 })
  t.match(await accounts.balance('other'), { creditsNano: 0 })
  t.match(await store.all('select * from entry'), [
    { id: 'd1', at: 42, debit: 'funding', credit: 'acme', amount: 5_000_000_000, kind: 'deposit' }
  ])
})

t.test('a deposit sent again changes nothing, also when both are under way', async (t) => {
  const { store, accounts } = await setUp(t)
  const deposit = { id: 'd1', account: 'acme', amountNano: 7 }
  t.same(await Promise.all([accounts.deposit(deposit), accounts.deposit(deposit)]), [true, false])
  t.equal(await accounts.deposit({ ...deposit, at: 99 }), false)
  t.match(await accounts.balance('acme'), { creditsNano: 7 })
  t.same(await store.all('select id from entry'), [{ id: 'd1' }])
})

t.test('the id of one deposit cannot be used for another', async (t) => {
  const { accounts } = await setUp(t)
  await accounts.create({ id: 'other' })
  await accounts.deposit({ id: 'd1', account: 'acme', amountNano: 7 })
  const conflict = { status: 409, code: 'idempotency_conflict' }
  await t.rejects(accounts.deposit({ id: 'd1', account: 'acme', amountNano: 8 }), conflict)
  await t.rejects(accounts.deposit({ id: 'd1', account: 'other', amountNano: 7 }), conflict)
  t.match(await accounts.balance('acme'), { creditsNano: 7 })
})

t.test('amounts that are not positive safe integers are refused', async (t) => {
  const { accounts } = await setUp(t)
  for (const amountNano of [0, -1, 0.5, NaN, 2 ** 53]) {
    await t.rejects(accounts.deposit({ id: 'd1', account: 'acme', amountNano }), RangeError, String(amountNano))
  }
})

t.test('credits cannot leave the safe integers, and the entry goes with them', async (t) => {
  const { store, accounts } = await setUp(t)
  await accounts.deposit({ id: 'd1', account: 'acme', amountNano: Number.MAX_SAFE_INTEGER - 1 })
  await t.rejects(accounts.deposit({ id: 'd2', account: 'acme', amountNano: 2 }), RangeError)
  t.same(await store.all('select id from entry'), [{ id: 'd1' }])
  t.equal(await accounts.deposit({ id: 'd3', account: 'acme', amountNano: 1 }), true)
  t.match(await accounts.balance('acme'), { creditsNano: Number.MAX_SAFE_INTEGER })
})

t.test('an unknown account has no balance and takes no deposit', async (t) => {
  const { store, accounts } = await setUp(t)
  const unknown = { status: 404, code: 'account_not_found' }
  await t.rejects(accounts.balance('nobody'), unknown)
  await t.rejects(accounts.deposit({ id: 'd1', account: 'nobody', amountNano: 1 }), unknown)
  t.same(await store.all('select id from entry'), [])
})

t.test('a deposit within the caller\'s transaction goes with it', async (t) => {
  const { store, accounts } = await setUp(t)
  await t.rejects(store.transaction(async (queries) => {
    await accounts.create({ id: 'new' }, queries)
    await accounts.deposit({ id: 'd1', account: 'new', amountNano: 1 }, queries)
    throw new Error('undone')
  }), { message: 'undone' })
  t.same(await store.all('select id from entry'), [])
  await t.rejects(accounts.balance('new'), { code: 'account_not_found' })
})
