import t, { type Test } from 'tap'
import { createStaleHolds } from '../../../../../services/billing/ledger/cluster/release-dead-nodes.ts'
import { createCommit } from '../../../../../services/billing/ledger/commit/commit.ts'
import { allowanceOf } from '../../../../../services/billing/ledger/node-allowance.ts'
import type { Term } from '../../../../../services/billing/ledger/node-allowance.ts'
import { withDefaults } from '../../../../../services/billing/ledger/options.ts'
import { holdState } from '../../../../../services/billing/ledger/sql/rows.ts'
import type { PendingReservation, Settlement } from '../../../../../services/billing/ledger/types.ts'
import type { Database } from '../../../../helpers/engines.ts'
import { createDatabase, forEachEngine } from '../../../../helpers/engines.ts'
import { assertBooks, charge, createBooks, rowOf } from '../helper.ts'
import { createNetwork } from '../simulation.ts'

/** A store with accounts, and nodes that commit to it; they keep nothing spare unless they say so. */
async function openTest (database: Database, credits: Record<string, number> = { acme: 1000, budget: 500 }) {
  const time = { nowMs: 1_000_000 }
  const store = await database.open(() => time.nowMs)
  await createBooks(store, credits)

  async function node (id: string, chunkNano = 0, between?: () => void) {
    await store.run('insert into node (id, epoch, heartbeat_at) values ($1, 1, $2)', [id, time.nowMs])
    const connection = createNetwork(store, between).connect()
    const options = withDefaults(store.engine, { chunkNano, leaseMs: 15_000 })
    const commit = createCommit({
      store: connection, node: id, options, requestMs: () => 600_000, monotonic: () => time.nowMs
    })
    const term: Term = { id: `${id}/1`, epoch: 1, lastSequence: 0, allowances: new Map(), dirty: new Set() }
    return {
      term,
      connection,
      commit: async (batch: Partial<Parameters<typeof commit>[0]>) =>
        await commit({ settlements: [], reservations: [], ...batch }, term, { dirty: [...term.dirty] })
    }
  }

  return {
    store,
    time,
    node,
    /** What the database has of the allowances and durable holds of an owner. */
    holds: async (owner: string) => await store.all<{ account: string, amount: number, state: number }>(
      'select account, amount, state from hold where owner = $1 order by account', [owner]),
    entries: async () => await store.all<{ kind: string, amount: number, debit: string }>(
      "select kind, amount, debit from entry where kind in ('usage', 'suspense') order by seq")
  }
}

let count = 0

function reservation (amountNano: number, more: Partial<PendingReservation> = {}): PendingReservation {
  return {
    id: `h${++count}`,
    chain: ['acme', 'budget'],
    key: 'key',
    amountNano,
    durable: null,
    granted: () => {},
    refused: () => {},
    ...more
  }
}

/** Ends a granted reservation, as the holds of the ledger do before they queue the settlement. */
function settlement (
  term: Term, { id, chain, key, amountNano }: PendingReservation, costNano: number, fresh = true
): Settlement {
  const allowances = chain.map(account => allowanceOf(term, account))
  for (const allowance of allowances) {
    allowance.inFlightNano -= amountNano
    allowance.postedNano += costNano
  }
  return {
    hold: { id, chain, key, amountNano, grant: { term, allowances }, fresh },
    sequence: fresh ? ++term.lastSequence : 0,
    charge: charge(costNano, amountNano),
    at: 1,
    suspended: null
  }
}

const durable = { expiresAt: 9_000_000 }

async function assertUnchanged (t: Test, test: Awaited<ReturnType<typeof openTest>>): Promise<void> {
  t.match(await rowOf(test.store), { spent: 0, held: 0 })
  t.same(await test.entries(), [])
}

forEachEngine(t, 'a reservation is held on every account of its chain', async (t, database) => {
  const { store, node, holds } = await openTest(database)
  const { commit, term } = await node('a')
  const wanted = reservation(100)
  const { granted, refused } = await commit({ reservations: [wanted] })
  t.same(granted.map(({ reservation }) => reservation), [wanted])
  t.same(refused, [])
  for (const account of ['acme', 'budget']) {
    t.match(await rowOf(store, account), { held: 100, spent: 0 })
    t.match(term.allowances.get(account), { grantedNano: 100, inFlightNano: 100 })
  }
  t.same((await holds('a')).map(({ amount }) => amount), [100, 100])
  await assertBooks(t, store)
})

forEachEngine(t, 'a settlement becomes an entry, and what was held for it is released', async (t, database) => {
  const { store, node, entries } = await openTest(database)
  const { commit, term } = await node('a')
  const wanted = reservation(100)
  await commit({ reservations: [wanted] })
  await commit({ settlements: [settlement(term, wanted, 60)] })
  t.same(await entries(), [{ kind: 'usage', amount: 60, debit: 'acme' }])
  for (const account of ['acme', 'budget']) t.match(await rowOf(store, account), { held: 0, spent: 60 })
  t.equal(term.allowances.size, 0, 'an empty allowance is dropped from memory')
  await assertBooks(t, store)
})

for (const [name, fresh] of [['fresh holds', true], ['holds found by their id', false]] as const) {
  forEachEngine(t, `a commit whose answer was lost is repeated without effect: ${name}`, async (t, database) => {
    const { store, node, entries } = await openTest(database)
    const { commit, term, connection } = await node('a')
    const [first, second] = [reservation(100), reservation(100)]
    await commit({ reservations: [first, second] })
    const settlements = [settlement(term, first, 60, fresh), settlement(term, second, 30, fresh)]
    connection.weather = 'answer lost'
    for (let tries = 0; tries < 2; tries++) await t.rejects(commit({ settlements }), { name: 'StoreUnavailable' })
    t.match(await rowOf(store), { spent: 90 }, 'it had come through')
    t.match(term.allowances.get('acme'), { postedNano: 90 }, 'which the node does not know')
    connection.weather = 'well'
    await commit({ settlements })
    t.same((await entries()).map(({ amount }) => amount), [60, 30])
    t.match(await rowOf(store), { spent: 90, held: 0 })
    t.equal(term.dirty.size, 0)
    await assertBooks(t, store)
  })
}

forEachEngine(t, 'what a lost commit had held is given back by the next one', async (t, database) => {
  const { store, node } = await openTest(database)
  const { commit, connection, term } = await node('a')
  connection.weather = 'answer lost'
  await t.rejects(commit({ reservations: [reservation(100)] }), { name: 'StoreUnavailable' })
  t.match(await rowOf(store), { held: 100 })
  t.match(term.allowances.get('acme'), { grantedNano: 0, inFlightNano: 0 }, 'nothing is granted from it')
  connection.weather = 'well'
  await commit({})
  t.match(await rowOf(store), { held: 0 })
  t.same(term.dirty.size, 0)
  await assertBooks(t, store)
})

forEachEngine(t, 'a node that was declared dead commits nothing', async (t, database) => {
  const test = await openTest(database)
  const { store, node, holds } = test
  const { commit } = await node('a')
  await store.run("update node set epoch = 2 where id = 'a'")
  await t.rejects(commit({ reservations: [reservation(100)] }), { name: 'TermEnded' })
  await assertUnchanged(t, test)

  const other = await node('b')
  const wanted = reservation(100)
  await other.commit({ reservations: [wanted] })
  const seen = { id: 'b', epoch: 1, heartbeatAt: 1_000_000 }
  t.same(await createStaleHolds(store).releaseDeadNode(seen),
    [{ account: 'acme', amountNano: 100 }, { account: 'budget', amountNano: 100 }])
  const late = settlement(other.term, wanted, 60)
  await t.rejects(other.commit({ settlements: [late] }), { name: 'TermEnded' })
  await assertUnchanged(t, test)
  t.same((await holds('b')).map(({ state }) => state), [holdState.revoked, holdState.revoked])
  await assertBooks(t, store)
})

forEachEngine(t, 'a settlement of an ended term goes to suspense under the next one', async (t, database) => {
  const { store, node, entries } = await openTest(database)
  const { commit, term } = await node('a')
  const wanted = reservation(100)
  await commit({ reservations: [wanted] })
  const late = settlement(term, wanted, 60)
  await createStaleHolds(store).releaseDeadNode({ id: 'a', epoch: 1, heartbeatAt: 1_000_000 })
  const { commit: commitNext } = await node('next')
  const { suspended } = await commitNext({ settlements: [late] })
  t.equal(suspended.length, 1)
  t.same(await entries(), [{ kind: 'suspense', amount: 60, debit: 'suspense' }])
  t.match(await rowOf(store), { spent: 0, held: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'one account that is short refuses its reservation alone, and on the whole chain', async (t, database) => {
  const { store, node } = await openTest(database)
  const { commit } = await node('a')
  const [fits, tooMuch, alsoFits] = [reservation(300), reservation(300), reservation(200)]
  const never = reservation(501)
  const { granted, refused } = await commit({ reservations: [fits, tooMuch, never, alsoFits] })
  t.same(granted.map(({ reservation }) => reservation), [fits, alsoFits])
  t.match(refused, [
    { reservation: tooMuch, error: { status: 429, code: 'insufficient_funds_held', account: 'budget' } },
    { reservation: never, error: { status: 402, code: 'insufficient_quota' } }
  ])
  t.match(await rowOf(store, 'acme'), { held: 500 })
  t.match(await rowOf(store, 'budget'), { held: 500 })
  await assertBooks(t, store)
})

forEachEngine(t, 'an account that does not exist refuses its reservation alone', async (t, database) => {
  const { store, node } = await openTest(database)
  const { commit } = await node('a')
  const unknown = reservation(1, { chain: ['acme', 'nowhere'] })
  const { granted, refused } = await commit({ reservations: [unknown, reservation(10)] })
  t.equal(granted.length, 1)
  t.match(refused, [{ reservation: unknown, error: { status: 404, code: 'account_not_found' } }])
  t.match(await rowOf(store), { held: 10 })
})

forEachEngine(t, 'a batch that the database rejects changes nothing', async (t, database) => {
  const test = await openTest(database)
  const { node, store } = test
  const { commit, term } = await node('a')
  const [good, bad] = [reservation(100), reservation(100)]
  const { granted } = await commit({ reservations: [good, bad] })
  t.equal(granted.length, 2)
  const right = settlement(term, good, 60)
  const wrong = { ...settlement(term, bad, 60), charge: charge(60, -1) }
  await t.rejects(commit({ settlements: [right, wrong] }))
  t.same(await test.entries(), [])
  t.match(await rowOf(store), { spent: 0, held: 200 })
  t.same([...term.dirty].map(({ account }) => account), ['acme', 'budget'], 'the next commit writes their rows')
})

forEachEngine(t, 'a hold that is released in the middle of a commit is no longer held after the next one', async (t, database) => {
  const { store, node } = await openTest(database)
  let statementsLeft = 0
  const { term, commit } = await node('n', 0, () => { if (--statementsLeft === 0) release() })

  function release (): void {
    for (const allowance of term.allowances.values()) {
      allowance.inFlightNano -= 100
      term.dirty.add(allowance)
    }
  }

  for (let statement = 1, isBeyond = false; !isBeyond; statement++) {
    const [released, settled] = [reservation(100), reservation(10)]
    await commit({ reservations: [released, settled] })
    statementsLeft = statement
    await commit({ settlements: [settlement(term, settled, 5)] })
    isBeyond = statementsLeft > 0
    statementsLeft = 0
    if (isBeyond) release()
    await commit({})
    const used = await store.all("select amount - spare as used from hold where owner = 'n'")
    t.same(used, [{ used: 0 }, { used: 0 }], `before statement ${statement}`)
    t.notOk(isBeyond && statement < 3, 'at least two statements')
  }
})

forEachEngine(t, 'a reservation short of what is held asks the other nodes for what they have spare', async (t, database) => {
  const { store, time, node } = await openTest(database, { acme: 1000 })
  const [rich, poor] = [await node('rich', 1000), await node('poor')]
  const chain = ['acme']
  await rich.commit({ reservations: [reservation(800, { chain })] })
  t.match(rich.term.allowances.get('acme'), { grantedNano: 825 }, 'an eighth of the rest is spare')
  const requested = async () => await store.all("select spare, spare_requested from hold where owner = 'rich'")

  const tooLarge = await poor.commit({ reservations: [reservation(1001, { chain })] })
  t.match(tooLarge.refused, [{ error: { status: 402 } }])
  t.match(await requested(), [{ spare: 25, spare_requested: 0 }], 'no spare money helps one that is too large')
  time.nowMs += 15_000
  const wanted = reservation(200, { chain })
  await poor.commit({ reservations: [wanted] })
  t.match(await requested(), [{ spare_requested: 0 }], 'the other node is dead')
  time.nowMs -= 15_000
  t.match((await poor.commit({ reservations: [wanted] })).refused, [{ error: { status: 429 } }])
  t.match(await requested(), [{ spare_requested: 1 }])

  rich.term.dirty.add(allowanceOf(rich.term, 'acme'))
  await rich.commit({})
  t.match(await rowOf(store), { held: 800 }, 'the other node has given it back')
  t.match((await poor.commit({ reservations: [wanted] })).granted, [{ reservation: { id: wanted.id } }])
  await assertBooks(t, store)
})

t.test('a commit grants nothing that another node has taken since it was read (postgres)', async t => {
  const { store, node } = await openTest(await createDatabase(t, 'postgres'), { acme: 1000 })
  const [one, other] = [await node('one'), await node('other')]
  const { all, get } = one.connection
  const chain = ['acme']
  const taken: PendingReservation[] = []
  let writes = 0
  // The other node takes money before each write, and gives it back before the rows are read again.
  one.connection.all = async (...args) => {
    const settlements = taken.splice(0).map(reserved => settlement(other.term, reserved, 0))
    await other.commit({ settlements })
    return await all(...args)
  }
  one.connection.get = async (...args) => {
    writes++
    taken.push(reservation(20, { chain }))
    await other.commit({ reservations: taken })
    return await get(...args)
  }
  const wanted = reservation(990, { chain })
  const { granted, refused } = await one.commit({ reservations: [wanted, reservation(5, { chain })] })
  t.same(granted, [])
  t.match(refused, [{ reservation: wanted, error: { status: 429 } }, { error: { status: 429 } }])
  t.equal(writes, 4, 'contested money counts as held after three attempts')
  t.match(await rowOf(store), { held: 20 })

  Object.assign(one.connection, { all, get })
  t.equal((await one.commit({ reservations: [reservation(980, { chain })] })).granted.length, 1)
  t.match(await rowOf(store), { held: 1000 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a durable hold has rows of its own; reserved again, it is reported as known', async (t, database) => {
  const { store, node, holds } = await openTest(database)
  const { commit } = await node('a')
  const wanted = reservation(100, { durable })
  t.equal((await commit({ reservations: [wanted] })).granted.length, 1)
  t.match(await holds('a'), [{ amount: 100, state: holdState.open }, { amount: 100, state: holdState.open }])
  const again = await commit({ reservations: [wanted] })
  t.same(again.granted, [])
  t.match(again.known, [{ reservation: { id: wanted.id }, rows: [{ account: 'acme' }, { account: 'budget' }] }])
  t.match(await rowOf(store), { held: 100 })

  const { id, chain, key, amountNano } = wanted
  const hold = { id, chain, key, amountNano, grant: null, fresh: false }
  const end = { hold, sequence: 0, charge: charge(60), at: 1, suspended: null }
  for (let times = 0; times < 2; times++) await commit({ settlements: [end] })
  t.match(await rowOf(store), { held: 0, spent: 60 })
  await assertBooks(t, store)
})

forEachEngine(t, 'a durable hold of a key that has ended is refused and holds nothing', async (t, database) => {
  const { store, node } = await openTest(database)
  const { commit } = await node('a')
  await store.run('update api_key set revoked_at = 1')
  const { granted, refused } = await commit({
    reservations: [reservation(100, { durable }), reservation(100, { durable, key: 'other' })]
  })
  t.same(granted, [])
  t.match(refused, [{ error: { status: 401, message: /revoked/ } }, { error: { status: 401, message: /not known/ } }])
  t.match(await rowOf(store), { held: 0 })
  await assertBooks(t, store)
})

forEachEngine(t, 'the first commit of a term renews the node\'s lease', async (t, database) => {
  const { store, time, node } = await openTest(database)
  const { commit } = await node('a')
  time.nowMs += 5000
  const { renewed, sentAtMs } = await commit({ reservations: [reservation(100)] })
  t.same([renewed, sentAtMs], [true, time.nowMs])
  t.match(await store.all('select heartbeat_at from node'), [{ heartbeat_at: time.nowMs }])
})
