import t from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createTransfers } from '../../../../services/billing/ledger/transfers.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import type { Database } from '../../../helpers/engines.ts'
import { assertBooks, createBooks, reservation, startLedger } from './helper.ts'

const refusal = (status: number, code: string) => ({ name: 'GatewayError', status, code })
const wrongParent = (message: RegExp) => ({ name: 'GatewayError', status: 400, param: 'parent', message })

/** Accounts a ⊃ b ⊃ c and other, each with 100 of its own. */
async function setUp (database: Database) {
  const store = await database.open()
  await createBooks(store, { a: 100, other: 100 })
  const accounts = createAccounts(store)
  await accounts.create({ id: 'b', parent: 'a' })
  await accounts.create({ id: 'c', parent: 'b' })
  for (const account of ['b', 'c']) await accounts.deposit({ id: `d-${account}`, account, amountNano: 100 })
  const balances = async () => Object.fromEntries((await store.all<{ id: string, balance: number }>(
    "select id, credits - spent as balance from account where kind = 'account' order by id"
  )).map(({ id, balance }) => [id, balance]))
  /** Freezes an account so long ago that every node has noticed it. */
  const freezeLongAgo = async (id: string) => {
    await accounts.freeze(id)
    await store.run('update account set frozen_at = frozen_at - 10000 where id = $1', [id])
  }
  return { store, accounts, balances, freezeLongAgo }
}

forEachEngine(t, 'an account moves with its money, and with the accounts below', async (t, database) => {
  const { store, accounts, balances } = await setUp(database)
  t.same(await balances(), { a: 300, b: 200, c: 100, other: 100 })
  await accounts.freeze('b')
  const startedMs = performance.now()
  await accounts.move('b', 'other')
  t.ok(performance.now() - startedMs > 2_000, 'waits until every node has noticed that it is frozen')
  t.same(await balances(), { a: 100, b: 200, c: 100, other: 300 })
  await accounts.move('b', null)
  t.same(await balances(), { a: 100, b: 200, c: 100, other: 100 })
  await accounts.move('b', 'a')
  await accounts.move('b', 'a')
  t.same(await balances(), { a: 300, b: 200, c: 100, other: 100 })
  t.match(await store.all("select debit, credit, amount from entry where kind = 'transfer' order by seq"), [
    { debit: 'a', credit: 'other', amount: 200 }, { debit: 'other', credit: 'b', amount: 200 },
    { debit: 'b', credit: 'a', amount: 200 }
  ])
  await assertBooks(t, store)
})

forEachEngine(t, 'an account is not moved to a wrong place, nor while it is in use', async (t, database) => {
  const { store, accounts, balances, freezeLongAgo } = await setUp(database)
  await t.rejects(accounts.move('b', 'other'), refusal(409, 'account_not_frozen'))
  await freezeLongAgo('a')
  await freezeLongAgo('b')
  await t.rejects(accounts.move('b', 'nobody'), wrongParent(/does not exist/))
  await t.rejects(accounts.move('a', 'c'), wrongParent(/below itself/))
  for (const [id, parent] of [['o2', 'other'], ['o3', 'o2'], ['o4', 'o3']] as const) await accounts.create({ id, parent })
  await t.rejects(accounts.move('b', 'o4'), wrongParent(/at most 4 parents/))

  const { ledger } = startLedger(t, store)
  const hold = await ledger.reserve(reservation(10, { id: 'r', chain: ['c', 'b', 'a'], durable: true }))
  await t.rejects(accounts.move('b', 'other'), refusal(409, 'account_in_use'))
  await hold.release()
  await accounts.move('b', 'other')
  t.same(await balances(), { a: 100, b: 200, c: 100, other: 300, o2: 0, o3: 0, o4: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'two moves at once make no circle', async (t, database) => {
  const { store, accounts, freezeLongAgo } = await setUp(database)
  for (const id of ['a', 'other']) await freezeLongAgo(id)
  const outcomes = await Promise.allSettled([accounts.move('a', 'other'), accounts.move('other', 'a')])
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  await assertBooks(t, store)
})

forEachEngine(t, 'an account is closed when nothing is held or left', async (t, database) => {
  const { store, accounts, balances } = await setUp(database)
  await t.rejects(accounts.close('b'), refusal(409, 'account_has_children'))
  await t.rejects(accounts.close('c'), refusal(409, 'account_not_empty'))
  const { ledger } = startLedger(t, store)
  const hold = await ledger.reserve(reservation(10, { id: 'r', chain: ['c', 'b', 'a'] }))
  await t.rejects(accounts.close('c', { takeOut: true }), refusal(409, 'account_in_use'))
  await hold.release()
  await accounts.close('c', { takeOut: true })
  t.same(await balances(), { a: 300, b: 200, c: 0, other: 100 }, 'what was left belongs to the parent')
  await accounts.close('other', { takeOut: true })
  t.same(await balances(), { a: 300, b: 200, c: 0, other: 0 })
  t.match(await store.all("select kind, debit, credit, amount from entry where idempotency_key like 'account-closed:%' order by seq"), [
    { kind: 'transfer', debit: 'c', credit: 'b', amount: 100 }, { kind: 'withdraw', debit: 'other', credit: 'funding', amount: 100 }
  ])

  const closed = refusal(409, 'account_closed')
  const transfers = createTransfers(store)
  await t.rejects(accounts.close('c'), closed)
  await t.rejects(accounts.freeze('c'), closed)
  await t.rejects(accounts.update('c', before => ({ ...before, name: 'new' })), closed)
  await t.rejects(accounts.deposit({ id: 'd', account: 'c', amountNano: 1 }), closed)
  await t.rejects(accounts.create({ id: 'new', parent: 'other' }), closed)
  await t.rejects(transfers.transfer({ id: 't', from: 'b', to: 'c', amountNano: 1 }), closed)
  t.equal(await accounts.deposit({ id: 'd-c', account: 'c', amountNano: 100 }), false, 'a repeated deposit is told as before')
  await assertBooks(t, store)
})

forEachEngine(t, 'a node that keeps money spare gives it back for closing', async (t, database) => {
  const { store, accounts } = await setUp(database)
  await accounts.deposit({ id: 'more', account: 'other', amountNano: 1_000_000 })
  const { ledger } = startLedger(t, store)
  const hold = await ledger.reserve(reservation(10, { id: 'r', chain: ['other'] }))
  await hold.release()
  const held = await store.get<{ held: number }>("select held from account where id = 'other'")
  t.ok((held?.held ?? 0) > 0)
  await accounts.close('other', { takeOut: true })
  t.match(await store.all("select amount from entry where kind = 'withdraw'"), [{ amount: 1_000_100 }])
  await assertBooks(t, store)
})

forEachEngine(t, 'freezing twice is one change', async (t, database) => {
  const { store, accounts } = await setUp(database)
  await accounts.freeze('a', 'late payment')
  await accounts.freeze('a')
  await accounts.unfreeze('a')
  t.match(await store.all("select action, facts_after from audit where action like 'account.%freeze' order by seq"), [
    { action: 'account.freeze', facts_after: '{"frozen":true,"reason":"late payment"}' },
    { action: 'account.unfreeze', facts_after: '{"frozen":false}' }
  ])
})
