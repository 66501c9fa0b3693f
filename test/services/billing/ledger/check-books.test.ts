import t from 'tap'
import type { Test } from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { checkBooks, checkLedger } from '../../../../services/billing/ledger/check/check-books.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createDatabase, forEachEngine, type Database } from '../../../helpers/engines.ts'
import { createBooks, reservation, spend, startLedger } from './helper.ts'

/** Books with a charge, a job and an open hold, that were checked. */
async function openCheckedBooks (t: Test, database: Database) {
  const store = await database.open()
  await createBooks(store, { acme: 1_000, budget: 1_000 })
  const { ledger } = startLedger(t, store)
  await spend(ledger, 700, 600, { id: 'job', chain: ['acme', 'budget'], durable: true })
  await ledger.reserve(reservation(100))
  await assertClean(t, store)
  return { store, ledger }
}

/** Asserts that the books add up; `entries` says how many there are. */
async function assertClean (t: Test, store: Store, entries?: number): Promise<void> {
  const checked = await checkBooks(store)
  t.same(checked, { violations: [], entries: entries ?? checked.entries })
}

forEachEngine(t, 'damage to old entries and holds is found', async (t, database) => {
  const { store } = await openCheckedBooks(t, database)
  await store.run(database.engine === 'sqlite'
    ? 'drop trigger entry_no_update'
    : 'drop trigger entry_no_change on entry')
  await store.run("update hold set resolved_at = 0 where id = 'job'")
  await store.run("update entry set amount = amount + 1 where kind = 'usage'")
  t.same(new Set((await checkLedger(store)).map(({ rule }) => rule)),
    new Set(['a settled hold has its entry, and no other hold has one', 'spent is usage less refunds']))
})

forEachEngine(t, 'every durable hold is checked, however many there are', async (t, database) => {
  const { store } = await openCheckedBooks(t, database)
  const insert = `insert into hold (id, account, kind, owner, amount, created_at, state, settled, resolved_at)
    values ($1, 'acme', 'job', 'a', 5, 0, $2, $3, 0)`
  await store.transaction(async queries => {
    for (let index = 0; index < 2_100; index++) await queries.run(insert, [`hold-${index}`, 2, null])
    await queries.run(insert, ['zz', 1, 5])
  })
  t.match(await checkLedger(store), [
    { rule: 'a settled hold has its entry, and no other hold has one', subject: 'zz acme', expected: null, found: 5 }
  ])
})

forEachEngine(t, 'checks go on beside requests and beside each other', async (t, database) => {
  const { store, ledger } = await openCheckedBooks(t, database)
  const other = await database.open()
  const accounts = createAccounts(store)
  for (const account of ['acme', 'budget']) await accounts.deposit({ id: account, account, amountNano: 1e9 })
  const over = new AbortController()
  const chains = [['acme'], ['acme', 'budget'], ['budget']]
  const traffic = Promise.all(chains.map(async chain => {
    for (let amount = 0; !over.signal.aborted; amount = (amount + 1) % 4) {
      await spend(ledger, 10, amount, { chain, durable: amount === 3 })
    }
  }))
  for (let round = 0; round < 10; round++) {
    await Promise.all([assertClean(t, store), assertClean(t, other)])
    t.same(await checkLedger(store), [])
  }
  over.abort()
  await traffic
  await assertClean(t, store)
})

t.test('on Postgres, an entry that becomes visible during a check is no violation', async t => {
  const database = await createDatabase(t, 'postgres')
  const { store, ledger } = await openCheckedBooks(t, database)
  const goOn = Promise.withResolvers<void>()
  const isBooked = Promise.withResolvers<void>()
  const late = store.transaction(async queries => {
    // On a busy machine the check takes longer than a connection may idle.
    await queries.run('set local idle_in_transaction_session_timeout = 0')
    await queries.run(`insert into entry (idempotency_key, at, debit, credit, amount, kind)
      values ('late', 0, 'funding', 'budget', 5, 'deposit')`)
    await queries.run("insert into movement (entry, account, amount) select seq, 'budget', 5 from entry where idempotency_key = 'late'")
    await queries.run("update account set credits = credits + 5 where id = 'budget'")
    isBooked.resolve()
    await goOn.promise
  })
  await isBooked.promise
  await spend(ledger, 50, 40)
  await assertClean(t, store)
  goOn.resolve()
  await late
  await assertClean(t, store)
})
