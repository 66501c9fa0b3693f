import t from 'tap'
import { entryIdSql } from '../../../../../services/billing/ledger/entry-id.ts'
import type { Hold, Ledger } from '../../../../../services/billing/ledger/ledger.ts'
import type { Store } from '../../../../../services/store/store.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import type { Database } from '../../../../helpers/engines.ts'
import { assertBooks, createBooks, createCluster, posting, reservation, rowOf, spend, startLedger } from '../helper.ts'

const untilGoneMs = 15_000 + 600_000 + 5_000

/** The requests in the books, by what they were for. */
async function entriesOf (store: Store) {
  return await store.all<{ key: string | null, ref: string, kind: string, amount: number }>(
    "select idempotency_key as key, ref, kind, amount from entry where kind in ('usage', 'suspense') order by ref")
}

function reserveFresh (ledger: Ledger, amountNano: number): Hold {
  const hold = ledger.reserve(reservation(amountNano, { fresh: true }))
  if (hold instanceof Promise) throw new Error('The node has nothing spare')
  return hold
}

/** A node `a` that has spare money, and another one. */
async function openCluster (database: Database) {
  const cluster = await createCluster(database, { acme: 10_000 })
  const [a, b] = [cluster.node('a'), cluster.node('b')]
  const first = Promise.resolve(a.ledger.reserve(reservation(100)))
  await cluster.time.advance(20)
  const hold = await first
  hold.settle(posting(100, { ref: 'first' }))
  await cluster.time.advance(50)
  return { ...cluster, a, b }
}

forEachEngine(t, 'a settlement from memory has a sequence number instead of an idempotency key', async (t, database) => {
  const store = await database.open()
  await createBooks(store, { acme: 10_000 })
  const { ledger } = startLedger(t, store)
  await spend(ledger, 100, 60)
  const settled = [40, 30].map(nano => reserveFresh(ledger, 50).settle(posting(nano, { ref: `cost-${nano}` })))
  await Promise.all(settled)
  t.match(await entriesOf(store), [
    { key: null, ref: 'cost-30', amount: 30 }, { key: null, ref: 'cost-40', amount: 40 }, { key: /^usage:r/, amount: 60 }
  ])
  const known = await store.all<{ id: string, seq: number }>(
    `select ${entryIdSql()} as id, seq from entry where idempotency_key is null`)
  t.equal(known.length, 2)
  for (const { id, seq } of known) t.equal(id, `entry_${seq}`)
  t.match(await store.all('select booked_sequence from hold'), [{ booked_sequence: 2 }])
  await t.rejects(store.run(`
    insert into entry (at, debit, credit, amount, kind) values (0, 'funding', 'acme', 1, 'deposit')`),
  'nothing else is without a key')
  await assertBooks(t, store)
})

forEachEngine(t, 'settlements with sequence numbers count once, whether a commit with a lost answer succeeded or not', async (t, database) => {
  const { store, time, a } = await openCluster(database)
  const [through, waiting] = [reserveFresh(a.ledger, 10), reserveFresh(a.ledger, 10)]
  const never = reserveFresh(a.ledger, 10)
  a.connection.weather = 'answer lost'
  through.settle(posting(1, { ref: 'through' }))
  await time.advance(30)
  t.match(await rowOf(store), { spent: 101 }, 'it had come through')
  waiting.settle(posting(2, { ref: 'waiting' }))
  await time.advance(600)
  a.connection.weather = 'away'
  never.settle(posting(4, { ref: 'never' }))
  await time.advance(600)
  t.match(await rowOf(store), { spent: 103 })

  a.connection.weather = 'well'
  await time.advance(1_000)
  t.match(await rowOf(store), { spent: 107 })
  t.same((await entriesOf(store)).map(({ ref, kind }) => [ref, kind]),
    [['first', 'usage'], ['never', 'usage'], ['through', 'usage'], ['waiting', 'usage']])
  t.equal(a.ledger.unflushedCount, 0)
  await assertBooks(t, store)
})

forEachEngine(t, 'the same holds where nothing is left of the allowance', async (t, database) => {
  const { store, time, a } = await openCluster(database)
  const allowance = await store.get<{ amount: number }>('select amount from hold')
  const amountNano = allowance?.amount ?? 0
  const last = reserveFresh(a.ledger, amountNano)
  a.connection.weather = 'answer lost'
  last.settle(posting(amountNano + 7, { ref: 'last' }))
  await time.advance(600)
  t.match(await store.all('select amount from hold'), [{ amount: 0 }])
  a.connection.weather = 'well'
  await time.advance(1_000)
  t.match(await rowOf(store), { spent: 100 + amountNano })
  t.same((await entriesOf(store)).map(({ ref, kind, amount }) => [ref, kind, amount]),
    [['first', 'usage', 100], ['last', 'usage', amountNano], ['last', 'suspense', 7]])
  await assertBooks(t, store)
})

forEachEngine(t, 'what was booked before its term ended does not go to suspense too', async (t, database) => {
  const { store, time, a, b } = await openCluster(database)
  const [booked, late] = [reserveFresh(a.ledger, 10), reserveFresh(a.ledger, 10)]
  a.connection.weather = 'answer lost'
  booked.settle(posting(1, { ref: 'booked' }))
  await time.advance(30)
  a.connection.weather = 'away'
  late.settle(posting(2, { ref: 'late' }))
  await time.advance(untilGoneMs)
  const rest = b.ledger.reserve(reservation(9_000))
  await time.advance(50)
  const hold = await rest
  hold.release()

  a.connection.weather = 'answer lost'
  await time.advance(5_000)
  a.connection.weather = 'well'
  await time.advance(5_000)
  t.same((await entriesOf(store)).map(({ ref, kind }) => [ref, kind]),
    [['booked', 'usage'], ['first', 'usage'], ['late', 'suspense']])
  t.match(await rowOf(store), { spent: 101 })

  const again = Promise.resolve(a.ledger.reserve(reservation(100)))
  await time.advance(100)
  const next = await again
  next.release()
  reserveFresh(a.ledger, 5).settle(posting(5, { ref: 'under the next term' }))
  await time.advance(100)
  t.match((await entriesOf(store)).at(-1), { ref: 'under the next term', kind: 'usage', key: null })
  t.match(await rowOf(store), { spent: 106 })
  await assertBooks(t, store)
})

forEachEngine(t, 'the database\'s sequence number decides what is booked already', async (t, database) => {
  const { store, time, a } = await openCluster(database)
  await store.run("update hold set booked_sequence = 2 where owner = 'a'")
  for (const ref of ['one', 'two', 'three']) reserveFresh(a.ledger, 10).settle(posting(1, { ref }))
  await time.advance(50)
  t.same((await entriesOf(store)).map(({ ref }) => ref), ['first', 'three'])
  t.match(await store.all("select booked_sequence from hold where owner = 'a'"), [{ booked_sequence: 3 }])
  await assertBooks(t, store)
})
