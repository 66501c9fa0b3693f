import t, { type Test } from 'tap'
import type { BegunGeneration } from '../../../services/images/begun-generation.ts'
import { createGenerations } from '../../../services/images/generations.ts'
import type { Made } from '../../../services/images/generation.ts'
import { checkLedger } from '../../../services/billing/ledger/check/check-books.ts'
import { GatewayError } from '../../../services/shared/errors.ts'
import { StoreUnavailable, type Store } from '../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { createBooks, posting, reservation, rowOf, startLedger } from '../billing/ledger/helper.ts'

const { signal } = new AbortController()
const takeoverMs = 10_000
const order = { apiKey: 'key', identity: { key: 'mine', retryCount: 0, bodyHash: 'body' }, signal }
const price = 40
const hold = { id: 'hold_1', chain: ['acme'], key: 'key', amountNano: 100 }
const made: Made = {
  model: 'a/model',
  provider: 'up',
  upstreamModel: 'model',
  headers: {},
  costNano: price,
  booking: { hold, posting: posting(price) },
  answer: {} as Made['answer'],
  images: []
}

function nodesOn (t: Test, store: Store, isDraining = () => false) {
  return (node: string) => {
    const generations = createGenerations({
      store,
      node,
      takeoverMs,
      isDraining,
      onError: error => t.comment(error),
      reportSuspended: () => {}
    })
    t.teardown(() => generations.close())
    return generations
  }
}

/** Does the work of the request that has begun a generation; the generation fails with it. */
async function making (
  begun: BegunGeneration | null, work: (generation: BegunGeneration) => Promise<void>
): Promise<void> {
  if (begun === null) throw new TypeError('The request has joined another one.')
  try {
    await work(begun)
  } catch (error) {
    await begun.fail(error)
    throw error
  }
}

async function beat (store: Store, node: string, silentMs: number): Promise<void> {
  await store.run(`
    insert into node (id, epoch, heartbeat_at) values ($1, 1, now_ms() - cast($2 as bigint))
    on conflict (id) do update set heartbeat_at = excluded.heartbeat_at`, [node, silentMs])
}

forEachEngine(t, 'a node that was frozen before it recorded its images does not charge them', async (t, { open }) => {
  const store = await open()
  const start = nodesOn(t, store)
  const [one, other, third] = [start('one'), start('other'), start('third')]
  const thawed = Promise.withResolvers<void>()
  const { id, begun } = await one.find(order, one.enter())
  t.match(await one.find(order, one.enter()), { id, begun: null })
  let isRecorded = false
  const running = thawed.promise.then(async () => {
    await making(begun, async generation => {
      await generation.record(made)
      isRecorded = true
    })
  })
  await beat(store, 'one', takeoverMs + 1)
  t.teardown(() => thawed.resolve())
  for (const node of [other, third]) {
    t.match(await node.find(order, node.enter()), { id, begun: null })
  }
  const waits = await Promise.allSettled([other, third].map(node => node.wait(id, signal)))
  t.match(waits, [{ value: null }, { value: null }], 'all that wait for it begin again')
  const joined = one.wait(id, signal)
  thawed.resolve()
  t.equal(await joined, null, 'also at the node itself')
  await t.rejects(running, { code: 'generation_lost' })
  t.equal(isRecorded, false)
})

/** When a generation is given up, compared with its charge; of a free model nothing is held. */
const moments = {
  'after it was charged': { isKept: true, isFree: false },
  'before it is charged': { isKept: false, isFree: false },
  'after it was booked, free of charge,': { isKept: true, isFree: true }
}

for (const [moment, { isKept, isFree }] of Object.entries(moments)) {
  forEachEngine(t, `a generation is given up ${moment} and its frozen node then goes on`, async (t, { open }) => {
    const price = isFree ? 0 : 40
    const heldNano = isFree ? 0 : 100
    const booking = { hold: { ...hold, amountNano: heldNano }, posting: posting(price) }
    const store = await open()
    await createBooks(store, { acme: 1000 })
    const { ledger } = startLedger(t, await open(), { options: { flushMs: 60_000 } })
    const start = nodesOn(t, store)
    const [one, other] = [start('one'), start('other')]
    const { id, begun } = await one.find(order, one.enter())
    const recorded = Promise.withResolvers<void>()
    const running = making(begun, async generation => {
      const held = await ledger.reserve(reservation(heldNano, { id: hold.id }))
      await generation.record({ ...made, costNano: price, booking })
      const booked = held.settle(posting(price))
      recorded.resolve()
      await generation.settle(booked)
    })
    running.catch(() => {})
    await recorded.promise
    await beat(store, 'one', takeoverMs + 1)
    if (isKept) await ledger.flush()
    await other.find(order, other.enter())
    const found = await other.wait(id, signal)
    await ledger.flush()
    const entries = await store.all('select kind, amount, reason from entry where ref = $1', ['req'])
    if (isKept) {
      t.match(found, { costNano: price })
      await running
      t.match(entries, [{ kind: 'usage', amount: price, reason: null }])
    } else {
      t.equal(found, null)
      await t.rejects(running, { code: 'generation_lost' })
      t.match(entries, [{ kind: 'suspense', amount: price, reason: 'unverified' }])
    }
    t.match(await rowOf(store), { spent: isKept ? price : 0 })
    await ledger.close()
    t.match(await rowOf(store), { spent: isKept ? price : 0, held: 0 })
    t.strictSame(await checkLedger(store), [])
  })
}

t.test('a generation that is given up in the midst of its charge is not charged', async t => {
  const { open } = await createDatabase(t, 'postgres')
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const start = nodesOn(t, store)
  const [one, other] = [start('one'), start('other')]
  const { id, begun } = await one.find(order, one.enter())
  const frozen = await open()
  let found: Made | null | undefined
  const { ledger } = startLedger(t, {
    ...frozen,
    async get (sql: string, params: Parameters<Store['get']>[1]) {
      // Between what a commit reads and what it writes.
      const writes = sql.includes('commit_ledger') && params?.some(one => String(one).includes(hold.id))
      if (writes === true && found === undefined) found = await other.wait(id, signal)
      return await frozen.get(sql, params)
    }
  } as Store)
  await other.find(order, other.enter())
  await beat(store, 'one', takeoverMs + 1)
  const running = making(begun, async generation => {
    const held = await ledger.reserve(reservation(100, { id: hold.id }))
    await generation.record(made)
    await generation.settle(held.settle(posting(price)))
  })
  await t.rejects(running, { code: 'generation_lost' })
  t.equal(found, null)
  t.match(await store.all('select kind, reason from entry where ref = $1', ['req']), [{ kind: 'suspense', reason: 'unverified' }])
  await ledger.close()
  t.match(await rowOf(store), { spent: 0, held: 0 })
  t.strictSame(await checkLedger(store), [])
})

forEachEngine(t, 'images that could not be recorded are not charged', async (t, { open }) => {
  const store = await open()
  const one = nodesOn(t, { ...store, run: async () => { throw new Error('rejected') } } as Store)('one')
  const { begun } = await one.find(order, one.enter())
  let isRecorded = false
  await t.rejects(making(begun, async generation => {
    await generation.record(made)
    isRecorded = true
  }), { message: 'rejected' })
  t.equal(isRecorded, false)
})

forEachEngine(t, 'a name whose generation was begun without an answer of the database is free', async (t, { open }) => {
  const store = await open()
  let breaks = true
  const one = nodesOn(t, {
    ...store,
    async transaction (work: Parameters<Store['transaction']>[0]) {
      const result = await store.transaction(work)
      if (breaks) throw new StoreUnavailable(null)
      return result
    }
  } as Store)('one')
  await t.rejects(one.find(order, one.enter()), StoreUnavailable)
  breaks = false
  const { id, begun } = await one.find(order, one.enter())
  t.equal(begun, null)
  t.equal(await one.wait(id, AbortSignal.timeout(3_000)), null)
  const again = await one.find(order, one.enter())
  t.ok(again.begun)
  await again.begun?.fail(GatewayError.unavailable('ended'))
})

forEachEngine(t, 'a client whose generation was lost waits for its next one', async (t, { open }) => {
  const store = await open()
  const one = nodesOn(t, store)('one')
  const client = one.enter()
  const first = await one.find(order, client)
  await first.begun?.fail(GatewayError.unavailable('lost'))
  const { id, begun } = await one.find(order, client)
  t.not(id, first.id)
  t.match(await one.clientPresence.of([id]), [{ id: client.id, work: id }])
  await begun?.fail(GatewayError.unavailable('ended'))
})

forEachEngine(t, 'a node that drains passes on a refusal, and counts as lost for its own failures', async (t, { open }) => {
  const store = await open()
  const start = nodesOn(t, store, () => true)
  const [one, other] = [start('one'), start('other')]
  await beat(store, 'one', 0)
  const failing = async (key: string, error: GatewayError) => {
    const named = { ...order, identity: { ...order.identity, key } }
    const { id, begun } = await one.find(named, one.enter())
    await begun?.fail(error)
    return id
  }
  const refused = await failing('refused', GatewayError.invalidRequest('A picture of what?'))
  await t.rejects(other.wait(refused, signal), { status: 400, message: 'A picture of what?' })
  t.equal(await other.wait(await failing('closed', GatewayError.unavailable('Closing.')), signal), null)
})
