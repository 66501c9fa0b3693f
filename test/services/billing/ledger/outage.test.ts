import t from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { thrown } from '../../../helpers/thrown.ts'
import { assertBooks, createCluster, posting, reservation, rowOf } from './helper.ts'

const usd = 1_000_000_000
const away = { name: 'StoreUnavailable' }

forEachEngine(t, 'settlements during an outage are committed after it', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection, log } = node('a')
  const reserved = [10, 20, 30].map(async (amount) => await ledger.reserve(reservation(amount)))
  await time.advance(20)
  const holds = await Promise.all(reserved)
  connection.weather = 'away'
  const written: number[] = []
  for (const hold of holds) hold.settle(posting(hold.amountNano)).then(() => written.push(hold.amountNano))
  const balance = t.rejects(ledger.balance('acme'), away)
  const flush = t.rejects(ledger.flush(), away)
  await time.advance(5_000)
  await Promise.all([balance, flush])
  t.same(written, [])
  t.equal(ledger.unflushedCount, 3)
  t.match(await rowOf(store), { spent: 0 })
  t.ok(log.lines.some(({ message }) => /cannot be written/.test(message)))

  connection.weather = 'well'
  await time.advance(600)
  t.same(written, [10, 20, 30])
  t.equal(ledger.unflushedCount, 0)
  t.match(await rowOf(store), { spent: 60 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a lost answer changes nothing, whether the commit succeeded or not', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const { ledger, connection } = node('a')
  const first = Promise.resolve(ledger.reserve(reservation(100)))
  await time.advance(20)
  connection.weather = 'answer lost'
  const hold = await first
  hold.settle(posting(60))
  const large = t.rejects(async () => await ledger.reserve(reservation(800)), away)
  await time.advance(500)
  await large
  t.match(await rowOf(store), { spent: 60 }, 'it had come through')

  connection.weather = 'well'
  await time.advance(3_000)
  t.match(await rowOf(store), { spent: 60, held: 0 }, 'the hold of the lost answer is released')
  const all = Promise.resolve(ledger.reserve(reservation(940)))
  await time.advance(20);
  (await all).settle(posting(940))
  await time.advance(20)
  t.match(await rowOf(store), { spent: 1_000, held: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'what was spare before a lost answer is not granted twice', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const [a, b] = [node('a'), node('b')]
  const first = Promise.resolve(a.ledger.reserve(reservation(100)))
  await time.advance(20)
  t.match(await rowOf(store), { held: 212 })
  await first
  // Once idle it gives back what is spare, without knowing that the commit succeeded.
  a.connection.weather = 'answer lost'
  await time.advance(2_500)
  t.match(await rowOf(store), { held: 100 })
  const rest = Promise.resolve(b.ledger.reserve(reservation(900)))
  await time.advance(20)
  await rest
  t.match(thrown(() => a.ledger.reserve(reservation(1))), away)
  await assertBooks(t, store)
})

forEachEngine(t, 'an allowance that grew in a commit without an answer is given back', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const { ledger, connection } = node('a')
  const first = Promise.resolve(ledger.reserve(reservation(100)))
  await time.advance(2_500)
  t.match(await rowOf(store), { held: 100 })
  connection.weather = 'answer lost'
  const large = t.rejects(async () => await ledger.reserve(reservation(800)), away)
  await time.advance(1)
  await large
  t.match(await rowOf(store), { held: 900 + 12 }, 'with an eighth of the rest to spare')
  connection.weather = 'well'
  await time.advance(3_000)
  t.match(await rowOf(store), { held: 100 });
  (await first).release()
  await time.advance(50)
  await assertBooks(t, store)
})

forEachEngine(t, 'requests during an outage do not each ask the database', async (t, database) => {
  const { time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection, log } = node('a')
  const reserved = Array.from({ length: 100 }, async () => await ledger.reserve(reservation(1)))
  await time.advance(20)
  connection.weather = 'away'
  for (const hold of await Promise.all(reserved)) {
    hold.settle(posting(1))
    await time.advance(10)
  }
  const attempts = log.lines.filter(({ message }) => /cannot be written/.test(message)).length
  t.ok(attempts > 1 && attempts < 10, `${attempts} attempts in a second`)
  connection.weather = 'well'
  await time.advance(600)
  t.equal(ledger.unflushedCount, 0)
})

forEachEngine(t, 'the number of items waiting for the database is bounded', async (t, database) => {
  const { time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection } = node('a', { maxUnflushed: 3, maxWaiting: 2 })
  const refusals = [1, 2].map(() => Promise.resolve(ledger.reserve(reservation(1))))
  t.match(thrown(() => ledger.reserve(reservation(1))), { ...away, cause: { message: /2 reservations are waiting/ } })
  await time.advance(20)
  await Promise.all(refusals)
  const holds = await Promise.all([1, 2, 3, 4].map(async () => await ledger.reserve(reservation(1))))
  connection.weather = 'away'
  for (const hold of holds.slice(0, 3)) hold.settle(posting(1))
  t.match(thrown(() => ledger.reserve(reservation(1))), { ...away, cause: { message: /3 settlements wait/ } })
  const last = holds[3]?.settle(posting(1))
  t.equal(ledger.unflushedCount, 4, 'what runs is settled all the same')
  connection.weather = 'well'
  await time.advance(600)
  await last
  t.equal(ledger.unflushedCount, 0)
  await ledger.reserve(reservation(1))
})

forEachEngine(t, 'entries settled during an outage or right after it carry their own time', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection } = node('a', { batchSize: 2 })
  const reserved = [1, 2, 3, 4].map(async (amount) => await ledger.reserve(reservation(amount)))
  await time.advance(20)
  const [first, second, third, fourth] = await Promise.all(reserved)
  connection.weather = 'away'
  const written = first?.settle(posting(1, { ref: 'first' }))
  second?.settle(posting(1, { ref: 'second' }))
  await time.advance(2_000)
  third?.settle(posting(1, { ref: 'third' }))
  await time.advance(3_000)
  connection.weather = 'well'
  const after = written?.then(() => fourth?.settle(posting(1, { ref: 'fourth' })))
  await time.advance(600)
  await after
  const entries = await store.all<{ ref: string, at: number }>("select ref, at from entry where kind = 'usage'")
  const at = Object.fromEntries(entries.map(entry => [entry.ref, entry.at]))
  const sinceFirst = (ref: string) => (at[ref] ?? NaN) - (at['first'] ?? NaN)
  t.equal(sinceFirst('second'), 0)
  t.equal(sinceFirst('third'), 2_000)
  t.ok(sinceFirst('fourth') >= 5_000, `${sinceFirst('fourth')} ms`)
  await assertBooks(t, store)
})

forEachEngine(t, 'closing without the database rejects, and logs what is not booked', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection, log } = node('a', { closeMs: 0 })
  const reserved = Promise.resolve(ledger.reserve(reservation(10)))
  await time.advance(20)
  const hold = await reserved
  connection.weather = 'away'
  hold.settle(posting(10))
  const closed = t.rejects(ledger.close(), away)
  await time.advance(20)
  await closed
  t.equal(ledger.unflushedCount, 1)
  t.equal(ledger.lostCount, 1)
  t.match(log.lines.at(-1), {
    level: 'error', message: /book it by hand/, details: { chain: ['acme'], key: 'key', posting: { amountNano: 10 } }
  })
  t.match(await rowOf(store), { spent: 0 })
  t.equal(await createAccounts(store).deposit({ id: 'd', account: 'acme', amountNano: 1 }), true)
})

forEachEngine(t, 'closing during a commit lets it finish, and nothing is committed after', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection, log } = node('a')
  const reserved = Promise.resolve(ledger.reserve(reservation(10)))
  await time.advance(20)
  const { transaction, get } = connection
  const begun = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const pause = async () => {
    Object.assign(connection, { transaction, get })
    begun.resolve()
    await goOn.promise
  }
  // Postgres commits in one statement.
  if (database.engine === 'sqlite') connection.transaction = async work => { await pause(); return await transaction(work) }
  else connection.get = async (...args) => { await pause(); return await get(...args) }
  (await reserved).release()
  await time.advance(30)
  await begun.promise
  const closed = ledger.close()
  await time.advance(30)
  goOn.resolve()
  await time.advance(30)
  await closed
  t.match(await rowOf(store), { held: 0 })
  connection.weather = 'away'
  await time.advance(10_000)
  await t.rejects(ledger.balance('acme'), away)
  t.same(log.lines, [])
})
