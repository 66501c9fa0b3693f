import t from 'tap'
import { createStaleHolds } from '../../../../../services/billing/ledger/cluster/release-dead-nodes.ts'
import type { Store } from '../../../../../services/store/store.ts'
import { forEachEngine } from '../../../../helpers/engines.ts'
import { assertBooks, createBooks, createCluster, reservation, rowOf, startLedger } from '../helper.ts'

forEachEngine(t, 'a dead node\'s holds are released once, and not if it turns out to be alive', async (t, database) => {
  const { store, time, node } = await createCluster(database, { acme: 1_000 })
  const hold = Promise.resolve(node('a', { chunkNano: 0 }).ledger.reserve(reservation(300)))
  await time.advance(20)
  await hold
  let transactions = 0
  const transaction: Store['transaction'] = work => { transactions++; return store.transaction(work) }
  const holds = createStaleHolds({ ...store, transaction })
  const [seen] = await holds.otherNodes('another')
  if (seen === undefined) throw new Error('the node holds nothing')
  t.match(seen, { id: 'a', epoch: 1 })
  t.same(await holds.otherNodes('a'), [], 'a node does not watch itself')

  t.equal(await holds.releaseDeadNode({ ...seen, heartbeatAt: seen.heartbeatAt - 1 }), null, 'it has given a sign of life since')
  t.match(await rowOf(store), { held: 300 })
  t.same(await holds.releaseDeadNode(seen), [{ account: 'acme', amountNano: 300 }])
  t.equal(await holds.releaseDeadNode(seen), null, 'another node was faster')
  t.equal(transactions, database.engine === 'sqlite' ? 3 : 0, 'on Postgres it is one statement')
  t.match(await rowOf(store), { held: 0 })
  t.same(await holds.otherNodes('another'), [])
  await assertBooks(t, store)
})

forEachEngine(t, 'a hold expires on every account of its chain at once', async (t, database) => {
  const time = { ms: 1_800_000_000_000 }
  const store = await database.open(() => time.ms)
  await createBooks(store, { acme: 1_000, budget: 1_000 })
  const { ledger } = startLedger(t, store)
  const chain = ['acme', 'budget']
  await ledger.reserve(reservation(100, { chain, durable: true, expiresAt: time.ms + 60_000 }))
  await ledger.reserve(reservation(10, { chain, durable: true, expiresAt: time.ms + 120_000 }))
  const holds = createStaleHolds(store)
  t.same(await holds.releaseExpired(), [])
  time.ms += 60_000
  const returned = await holds.releaseExpired()
  t.same(new Set(returned.map(({ account }) => account)), new Set(chain))
  t.match(returned, [{ amountNano: 100 }, { amountNano: 100 }])
  for (const account of chain) t.match(await rowOf(store, account), { held: 10 })
  await assertBooks(t, store)
})
