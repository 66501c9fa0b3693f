import t from 'tap'
import type { Hold } from '../../../../../services/billing/ledger/ledger.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import { assertBooks, createCluster, posting, reservation, rowOf, spend } from '../helper.ts'

const usd = 1_000_000_000
const chunkNano = 50_000_000
/** Longer than a lease, its margin and the longest request. */
const untilGoneMs = 630_000

forEachEngine(t, 'two nodes share an account without overdrawing it', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const nodes = [node('a'), node('b')]
  const outcomes = Promise.allSettled(Array.from({ length: 60 }, async (_, index) =>
    await nodes[index % 2]?.ledger.reserve(reservation(30))))
  await time.advance(5_000)
  const holds = (await outcomes).flatMap((outcome) => outcome.status === 'fulfilled' ? outcome.value ?? [] : [])
  t.equal(holds.length, 33)
  for (const hold of holds) hold.settle(posting(30))
  await time.advance(100)
  t.match(await rowOf(store), { spent: 990 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a node\'s spare money is bounded, and given back once the account is idle', async (t, database) => {
  const { store, time, node } = await createCluster(database, { rich: 10 * usd, poor: 800 })
  const { ledger } = node('a', { chunkNano })
  const rich = ledger.reserve(reservation(1_000, { chain: ['rich'] }))
  const poor = ledger.reserve(reservation(80, { chain: ['poor'] }))
  await time.advance(20)
  t.match(await rowOf(store, 'rich'), { held: 1_000 + chunkNano })
  t.match(await rowOf(store, 'poor'), { held: 80 + 720 / 8 })
  await time.advance(2_100)
  t.match(await rowOf(store, 'rich'), { held: 1_000 })
  t.match(await rowOf(store, 'poor'), { held: 80 })
  for (const hold of await Promise.all([rich, poor])) hold.settle(posting(80))
  await time.advance(2_100)
  t.match(await rowOf(store, 'rich'), { held: 0, spent: 80 })
  t.match(await rowOf(store, 'poor'), { held: 0, spent: 80 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a reservation waits for money that another node has spare', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const [a, b] = [node('a'), node('b')]
  const first = a.ledger.reserve(reservation(100))
  await time.advance(20)
  t.match(await rowOf(store), { held: 100 + 112 })

  const second = b.ledger.reserve(reservation(900))
  await time.advance(20)
  t.match(await rowOf(store), { held: 212 }, 'not granted yet')
  await time.advance(1_500)
  t.match(await second, { amountNano: 900 })
  t.match(await rowOf(store), { held: 1_000 })
  for (const hold of [await first, await second]) hold.settle(posting(100))
  await time.advance(2_000)
  t.match(await rowOf(store), { held: 0, spent: 200 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a busy node gives back spare money that another one requests', async (t, database) => {
  const { time, node } = await createCluster(database, { acme: 1_000 })
  const [a, b] = [node('a'), node('b')]
  const first = a.ledger.reserve(reservation(10))
  await time.advance(20)
  const large = Promise.resolve(b.ledger.reserve(reservation(900)))
  for (let round = 0; round < 40; round++) {
    const small = Promise.resolve(a.ledger.reserve(reservation(1)))
    await time.advance(10);
    (await small).settle(posting(1))
  }
  const { amountNano } = await Promise.race([large, Promise.reject(new Error('not granted yet'))])
  t.equal(amountNano, 900);
  (await first).release()
  await time.advance(50)
})

forEachEngine(t, 'money held on another node is waited for, and refused only once it is spent', async (t, database) => {
  const { time, node } = await createCluster(database, { acme: 1_000 })
  const [a, b] = [node('a'), node('b')]
  const first = a.ledger.reserve(reservation(800))
  await time.advance(1_900)
  const second = Promise.resolve(b.ledger.reserve(reservation(300)))
  const third = Promise.resolve(b.ledger.reserve(reservation(701)))
  const refused = t.rejects(third, { code: 'insufficient_quota' })
  await time.advance(1_000);
  (await first).settle(posting(300))
  await time.advance(1_100);
  (await second).release()
  await refused
})

forEachEngine(t, 'a node that cannot reach the database grants its allowance until its lease ends', async (t, database) => {
  const { time, node } = await createCluster(database, { acme: usd })
  const { ledger, connection } = node('a', { idleMs: 60_000 })
  const spending = spend(ledger, 1_000, 400)
  await time.advance(20)
  await spending
  connection.weather = 'away'
  const small = ledger.reserve(reservation(10))
  t.notOk(small instanceof Promise)
  const large = t.rejects(async () => await ledger.reserve(reservation(900_000_000)), { name: 'StoreUnavailable' })
  await time.advance(12_900)
  await large
  const late = ledger.reserve(reservation(10))
  t.notOk(late instanceof Promise)
  await time.advance(100)
  const tooLate = t.rejects(async () => await ledger.reserve(reservation(10)), { name: 'StoreUnavailable' })
  await time.advance(20)
  await tooLate
  connection.weather = 'well'
  await time.advance(3_000)
  const again = Promise.resolve(ledger.reserve(reservation(10)))
  await time.advance(20)
  for (const hold of await Promise.all([small, late, again])) hold.settle(posting(10))
  await time.advance(20)
})

forEachEngine(t, 'a dead node\'s holds are released, but not before its requests must have ended', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const [a, b] = [node('a', { chunkNano }), node('b', { chunkNano })]
  const small = a.ledger.reserve(reservation(1_000))
  const large = a.ledger.reserve(reservation(60_000_000))
  const job = a.ledger.reserve(reservation(5_000, { durable: true, expiresAt: 1_900_000_000_000 }))
  await time.advance(20)
  await Promise.all([small, large, job])
  a.crash()
  await time.advance(600_000)
  t.match(await rowOf(store), { held: 60_000_000 + 1_000 + 5_000 + chunkNano })
  await time.advance(untilGoneMs - 600_000)
  t.match(await rowOf(store), { held: 5_000 }, 'the job goes on on another node')
  t.ok(b.log.lines.some(({ message }) => /holds of a dead node were released/.test(message)))
  await assertBooks(t, store)
})

forEachEngine(t, 'later settlements go to suspense, never to the account', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const [a, b] = [node('a'), node('b')]
  const early = a.ledger.reserve(reservation(400))
  const durable = a.ledger.reserve(reservation(300, { durable: true, expiresAt: 1_800_000_100_000 }))
  await time.advance(20)
  a.connection.weather = 'away';
  (await early).settle(posting(350, { ref: 'too late' }))
  await time.advance(untilGoneMs)
  const rest = b.ledger.reserve(reservation(1_000))
  await time.advance(20);
  (await rest).settle(posting(1_000))
  await time.advance(20)

  a.connection.weather = 'well'
  await time.advance(5_000);
  (await durable).settle(posting(300, { ref: 'expired' }))
  await time.advance(20)
  t.match(await rowOf(store), { credits: 1_000, spent: 1_000, held: 0 })
  t.match(await store.all("select ref, debit, amount, chain from entry where kind = 'suspense' order by ref"), [
    { ref: 'expired', debit: 'suspense', amount: 300, chain: 'acme' },
    { ref: 'too late', debit: 'suspense', amount: 350, chain: 'acme' }
  ])
  t.equal(a.ledger.suspendedCount, 2)
  await assertBooks(t, store)

  const again = Promise.resolve(a.ledger.reserve(reservation(1)))
  const refused = t.rejects(again, { code: 'insufficient_quota' }, 'and the node goes on under a new term')
  await time.advance(20)
  await refused
})

forEachEngine(t, 'a node restarted under its id releases its old holds at once', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const old = node('a')
  const hold = old.ledger.reserve(reservation(700))
  await time.advance(20)
  const held = await hold
  old.connection.weather = 'away'
  held.settle(posting(650))
  await time.advance(20)
  const { ledger } = node('a')
  const all = ledger.reserve(reservation(1_000))
  await time.advance(50);
  (await all).settle(posting(1_000))
  await time.advance(20)
  t.match(await rowOf(store), { spent: 1_000, held: 0 })
  old.connection.weather = 'well'
  await time.advance(1_000)
  t.match(await rowOf(store), { spent: 1_000, held: 0 })
  t.equal(old.ledger.suspendedCount, 1)
  await assertBooks(t, store)
})

forEachEngine(t, 'durable holds that are never ended expire', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000, budget: 1_000 })
  const { ledger } = node('a')
  const chain = ['acme', 'budget']
  const kept = ledger.reserve(reservation(100, { chain, durable: true }))
  const expiring = ledger.reserve(reservation(200, { chain, durable: true, expiresAt: 1_800_000_030_000 }))
  await time.advance(29_000)
  t.match(await rowOf(store, 'budget'), { held: 300 })
  await time.advance(6_000)
  for (const account of chain) t.match(await rowOf(store, account), { held: 100 })
  await Promise.all([kept, expiring])
  await assertBooks(t, store)
})

forEachEngine(t, 'a request is charged however long it runs', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const requestMs = 1_800_000
  const [long, other] = [node('long', { requestMs }), node('other')]
  const holds = [long, other].map(({ ledger }) => Promise.resolve(ledger.reserve(reservation(150_000_000))))
  await time.advance(625_000)
  for (const hold of await Promise.all(holds)) hold.settle(posting(150_000_000))
  await time.advance(100)
  t.match(await rowOf(store), { spent: 300_000_000 })
  t.match(await store.all("select kind from entry where kind <> 'deposit'"), [{ kind: 'usage' }, { kind: 'usage' }])

  const last = Promise.resolve(long.ledger.reserve(reservation(100_000_000)))
  await time.advance(2_500)
  await last
  long.crash()
  await time.advance(requestMs)
  t.match(await rowOf(store), { held: 100_000_000 }, 'others wait for the longest request of a silent node')
  await time.advance(30_000)
  t.match(await rowOf(store), { held: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'nodes need no clocks of the same speed', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: usd })
  const slow = node('slow', { rate: 0.9 })
  const fast = node('fast', { rate: 1.1 })
  const holds: Promise<Hold>[] = []
  for (const { ledger } of [slow, fast]) holds.push(Promise.resolve(ledger.reserve(reservation(1_000))))
  await time.advance(untilGoneMs * 2)
  for (const hold of await Promise.all(holds)) hold.settle(posting(1_000))
  await time.advance(100)
  t.match(await rowOf(store), { spent: 2_000 })
  t.match([slow, fast].map(({ ledger }) => ledger.suspendedCount), [0, 0])
  await assertBooks(t, store)
})
