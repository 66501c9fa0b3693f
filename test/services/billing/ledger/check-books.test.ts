import t from 'tap'
import type { Test } from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { checkBooks, checkLedger } from '../../../../services/billing/ledger/check/check-books.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createDatabase, forEachEngine, type Database } from '../../../engines.ts'
import { damages } from './damages.ts'
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

/** Asserts that new entries are as they should be; `entries` says how many there are. */
async function assertClean (t: Test, store: Store, entries?: number): Promise<void> {
  const checked = await checkBooks(store)
  t.same(checked, { ...checked, violations: [], entries: entries ?? checked.entries })
}

async function watermarkOf (store: Store): Promise<number> {
  return (await store.get<{ seq: number }>('select seq from verified_until'))?.seq ?? 0
}

/** What an account has spent and was credited by the entries of the watermark. */
async function verifiedSums (store: Store) {
  return await store.all(`select account, seq, spent, credits from verified_sum
    where account in (select id from account) order by account, seq`)
}

forEachEngine(t, 'only new entries are read, and later ones are added to what they come to', async (t, database) => {
  const { store, ledger } = await openCheckedBooks(t, database)
  const first = await watermarkOf(store)
  await assertClean(t, store, 0)
  await spend(ledger, 50, 40, { chain: ['acme'] })
  await spend(ledger, 50, 30, { chain: ['acme'] })
  await assertClean(t, store, 2)
  t.equal(await watermarkOf(store), first + 2)
  t.same(await verifiedSums(store), [
    { account: 'acme', seq: first + 2, spent: 670, credits: 1_000 },
    { account: 'budget', seq: first, spent: 600, credits: 1_000 }
  ])
})

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`damage done after a check is found by the next ones (${engine})`, async t => {
    for (const [rule, { sql, subject }] of Object.entries(damages)) {
      await t.test(rule, async t => {
        const { store } = await openCheckedBooks(t, await createDatabase(t, engine))
        const before = await watermarkOf(store)
        for (const statement of sql) await store.run(statement)
        for (let times = 0; times < 2; times++) {
          const { violations } = await checkBooks(store)
          t.match(violations.find(violation => violation.rule === rule), { subject })
        }
        t.equal(await watermarkOf(store), before, 'until it is mended')
      })
    }
  })
}

forEachEngine(t, 'damage to checked entries is found by a check of everything', async (t, database) => {
  const { store } = await openCheckedBooks(t, database)
  await store.run(database.engine === 'sqlite'
    ? 'drop trigger entry_no_update'
    : 'drop trigger entry_no_change on entry')
  await store.run("update hold set resolved_at = 0 where id = 'job'")
  await store.run("update entry set amount = amount + 1 where kind = 'usage'")
  await assertClean(t, store)
  t.same(new Set((await checkLedger(store)).map(({ rule }) => rule)),
    new Set(['a settled hold has its entry, and no other hold has one', 'spent is usage less refunds']))
})

forEachEngine(t, 'wrong sums of the last check are no violation, and are replaced', async (t, database) => {
  const { store } = await openCheckedBooks(t, database)
  const before = await verifiedSums(store)
  await store.run('update verified_sum set spent = spent + 1')
  await assertClean(t, store)
  t.same(await verifiedSums(store), before)
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
  const { spent } = await store.get<{ spent: number }>("select spent from account where id = 'acme'") ?? {}
  t.match((await verifiedSums(store)).at(0), { spent })
})

t.test('on Postgres, entries that become visible late are not passed over', async t => {
  const database = await createDatabase(t, 'postgres')
  const { store, ledger } = await openCheckedBooks(t, database)
  const before = await watermarkOf(store)
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
  t.equal(await watermarkOf(store), before)
  goOn.resolve()
  await late
  await assertClean(t, store, 2)
  t.match((await verifiedSums(store)).at(-1), { account: 'budget', credits: 1_005 })
})
