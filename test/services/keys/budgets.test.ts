import t from 'tap'
import { budgetAccounts } from '../../../services/keys/budgets.ts'
import { createKeys } from '../../../services/keys/keys.ts'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import type { Budget } from '../../../services/keys/types.ts'
import { createLedger } from '../../../services/billing/ledger/create.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import type { Database } from '../../helpers/engines.ts'
import { setUp } from './helper.ts'

const usd = 1_000_000_000
const noon = Date.parse('2026-11-21T12:00:00Z')
const midnight = Date.parse('2026-11-22T00:00:00Z')

/** A key with a budget, at noon of a Saturday. */
async function withBudget (database: Database, budget: Budget) {
  const all = await setUp(database)
  all.time.now = noon
  const { id, key } = await all.keys.create({ account: 'acme', label: 'limited', budget })
  return { ...all, id, key }
}

const budgetsOf = (store: Store) => store.all<{ id: string, credits: number, kind: string }>(
  "select id, credits, kind from account where kind = 'budget' order by id")

forEachEngine(t, 'a request must fit into its account, the accounts above and the budget', async (t, database) => {
  const { store, keys, time, clock, id, key } = await withBudget(database, { limitNano: 7, period: null })
  t.same((await keys.authenticate(key)).chainAt(time.now), ['acme', `budget:${id}`])
  t.same(await budgetsOf(store), [{ id: `budget:${id}`, credits: 7, kind: 'budget' }])
  t.same((await keys.authenticate(key)).chainAt(time.now + 1e12), ['acme', `budget:${id}`])

  const accounts = createAccounts(store, clock)
  const line = ['acme', 'division', 'team', 'group', 'person']
  for (const [index, parent] of line.slice(0, -1).entries()) {
    await accounts.create({ id: line[index + 1] ?? '', parent })
  }
  const deep = await keys.create({ account: 'person', label: '', budget: { limitNano: 1, period: null } })
  t.same((await keys.authenticate(deep.key)).chainAt(time.now), [...line.reverse(), `budget:${deep.id}`])
  const plain = await keys.create({ account: 'division', label: '' })
  t.same((await keys.authenticate(plain.key)).chainAt(time.now), ['division', 'acme'])
})

const names: [Budget['period'], string][] = [['day', '2026-11-21'], ['week', '2026-W47'], ['month', '2026-11']]
for (const [period, name] of names) {
  forEachEngine(t, `a budget per ${period} has one account for each ${period}`, async (t, database) => {
    const { store, keys, time, id, key } = await withBudget(database, { limitNano: 7, period })
    t.same(await budgetsOf(store), [], 'none before it is used')
    const record = await keys.authenticate(key)
    t.same(record.chainAt(time.now), ['acme', `budget:${id}:${name}`])
    t.same(await budgetsOf(store), [{ id: `budget:${id}:${name}`, credits: 7, kind: 'budget' }])
    t.equal(record.chainAt(time.now), record.chainAt(time.now + 1), 'the array is shared by all requests')
  })
}

forEachEngine(t, 'when the period ends the next account takes over, without a query', async (t, database) => {
  const { store, keys, time, probe, id, key } = await withBudget(database, { limitNano: 7, period: 'day' })
  time.now = midnight - 500
  const record = await keys.authenticate(key)
  t.same((await budgetsOf(store)).map((row) => row.id), [`budget:${id}:2026-11-21`, `budget:${id}:2026-11-22`])
  const { queries } = probe
  t.same(record.chainAt(midnight - 1), ['acme', `budget:${id}:2026-11-21`])
  t.same(record.chainAt(midnight), ['acme', `budget:${id}:2026-11-22`])
  time.now = midnight + 400
  t.equal(await keys.authenticate(key), record)
  t.equal(probe.queries, queries)

  // Also during an outage.
  probe.down = true
  time.now = midnight + 30_000
  t.same((await keys.authenticate(key)).chainAt(time.now), ['acme', `budget:${id}:2026-11-22`])
})

forEachEngine(t, 'a request counts in the period it began in when the next account does not exist yet', async (t, database) => {
  const { keys, id, key } = await withBudget(database, { limitNano: 7, period: 'day' })
  const record = await keys.authenticate(key)
  t.same(record.chainAt(midnight + 1), ['acme', `budget:${id}:2026-11-21`])
})

forEachEngine(t, 'nodes that start a period together create one account', async (t, database) => {
  const { store, clock, id, key } = await withBudget(database, { limitNano: 7, period: 'day' })
  const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()))
  const records = await Promise.all(stores.map(async (own) => await createKeys(own, clock).authenticate(key)))
  for (const record of records) t.same(record.chainAt(clock()), ['acme', `budget:${id}:2026-11-21`])
  t.equal((await budgetsOf(store)).length, 1)
})

forEachEngine(t, 'a limit changed while a period begins is not missed', async (t, database) => {
  const { store, keys, time, clock, id, key } = await withBudget(database, { limitNano: 1, period: 'day' })
  const other = await database.open()
  for (let day = 1; day <= 15; day++) {
    time.now += 86_400_000
    const budget = { limitNano: day * 10, period: 'day' } as const
    await Promise.all([keys.update(id, { budget }), createKeys(other, clock).authenticate(key)])
    const { account } = budgetAccounts(id, budget, time.now)
    t.match((await budgetsOf(store)).find((row) => row.id === account), { credits: day * 10 })
  }
})

forEachEngine(t, 'a changed limit applies to the present period and to the next', async (t, database) => {
  const { store, keys, time, id, key } = await withBudget(database, { limitNano: 7, period: 'day' })
  await keys.authenticate(key)
  time.now = midnight - 1_000
  await keys.authenticate(key)
  await keys.update(id, { budget: { limitNano: 3, period: 'day' } })
  t.same((await budgetsOf(store)).map(({ credits }) => credits), [3, 3])
  t.match(await keys.authenticate(key), { budget: { limitNano: 3 } })

  await keys.update(id, { budget: { limitNano: 9, period: 'month' } })
  t.same((await keys.authenticate(key)).chainAt(time.now), ['acme', `budget:${id}:2026-11`])
  await keys.update(id, { budget: null })
  t.same((await keys.authenticate(key)).chainAt(time.now), ['acme'])
  await keys.update(id, { budget: { limitNano: 4, period: 'day' } })
  await keys.authenticate(key)
  const credits = Object.fromEntries((await budgetsOf(store)).map((row) => [row.id, row.credits]))
  t.equal(credits[`budget:${id}:2026-11-21`], 4)
})

forEachEngine(t, 'a budget is not money: nothing is deposited into it, and nothing can be', async (t, database) => {
  const { store, keys, clock, id, key } = await withBudget(database, { limitNano: 7, period: null })
  await keys.authenticate(key)
  t.same(await store.all('select idempotency_key as id from entry'), [])
  const accounts = createAccounts(store, clock)
  await t.rejects(accounts.deposit({ id: 'd', account: `budget:${id}`, amountNano: 1 }), { name: 'GatewayError', status: 404 })
  await t.rejects(accounts.create({ id: 'child', parent: `budget:${id}` }), { name: 'GatewayError', status: 400, param: 'parent' })
  await t.rejects(accounts.create({ id: 'budget:mine' }), { name: 'GatewayError', status: 400, param: 'id' })
  await t.rejects(keys.create({ account: `budget:${id}`, label: '' }), { name: 'GatewayError', status: 400, param: 'account' })
})

forEachEngine(t, 'a key spends no more than its budget, and a changed limit applies to the next hold', async (t, database) => {
  const { store, keys, time, clock, id, key } = await withBudget(database, { limitNano: 2 * usd, period: 'month' })
  await createAccounts(store, clock).deposit({ id: 'd', account: 'acme', amountNano: 100 * usd })
  const ledger = createLedger({ store })
  t.teardown(() => ledger.close())
  const posting = { amountNano: usd, ref: 'r', model: 'm', usage: {}, estimated: false }
  let count = 0
  const spend = async () => {
    const { chainAt } = await keys.authenticate(key)
    const hold = await ledger.reserve({ id: `h${++count}`, chain: chainAt(time.now), key: id, amountNano: usd })
    await hold.settle(posting)
  }
  await spend()
  await spend()
  await t.rejects(spend(), { status: 402, code: 'insufficient_quota' })
  await keys.update(id, { budget: { limitNano: 3 * usd, period: 'month' } })
  await spend()
  await t.rejects(spend(), { name: 'GatewayError', status: 402 })
  t.match(await ledger.balance(`budget:${id}:2026-11`), { creditsNano: 3 * usd, spentNano: 3 * usd, availableNano: 0 })
  t.match(await ledger.balance('acme'), { spentNano: 3 * usd })

  time.now = Date.parse('2026-12-01T00:00:00Z')
  await spend()
  await keys.update(id, { budget: { limitNano: 0, period: 'month' } })
  await t.rejects(spend(), { name: 'GatewayError', status: 402 })
  t.match(await ledger.balance(`budget:${id}:2026-12`), { spentNano: usd, availableNano: -usd })
})
