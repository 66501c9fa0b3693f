import t, { type Test } from 'tap'
import { createAccounts } from '../../../../../services/billing/ledger/accounts.ts'
import type { LedgerContext } from '../../../../../services/billing/ledger/create.ts'
import type { Hold, Ledger, Reservation } from '../../../../../services/billing/ledger/ledger.ts'
import { GatewayError } from '../../../../../services/shared/errors.ts'
import { forEachEngine, type Database } from '../../../../helpers/engines.ts'
import { assertBooks, createCluster, posting, reservation, rowOf } from '../helper.ts'

const moneyHeld = { status: 429, type: 'rate_limit_exceeded', code: 'insufficient_funds_held' }

type World = Awaited<ReturnType<typeof createWorld>>

/** A node with holds of these amounts on an account of 1,000 nano-USD. */
async function createWorld (database: Database, held: number[], options: LedgerContext['options'] = {}) {
  const cluster = await createCluster(database, { acme: 1_000, team: 1_000, other: 1_000 })
  const node = cluster.node('a', options)
  const holds: Hold[] = []
  for (const amountNano of held) {
    holds.push(await granted(cluster, node.ledger.reserve(reservation(amountNano))))
  }
  return { ...cluster, nodes: [node.ledger], ledger: node.ledger, holds }
}

async function granted ({ time }: Pick<World, 'time'>, hold: Hold | Promise<Hold>): Promise<Hold> {
  await time.advance(20)
  return await hold
}

interface Asked { hold: Hold | null, error: unknown }

/** Makes a reservation and shows what becomes of it. */
function ask (ledger: Ledger, amountNano: number, more: Partial<Reservation> = {}): Asked {
  const asked: Asked = { hold: null, error: null }
  Promise.resolve(ledger.reserve(reservation(amountNano, more)))
    .then(hold => { asked.hold = hold }, (error: unknown) => { asked.error = error })
  return asked
}

const isWaiting = ({ hold, error }: Asked): boolean => hold === null && error === null

/** Ends all holds, after which nothing is left of them. */
async function finish (t: Test, { nodes, store, time, holds }: World, ...asked: Asked[]): Promise<void> {
  for (const hold of [...holds, ...asked.map(({ hold }) => hold)]) hold?.release()
  await time.advance(3_000)
  for (const { waitingCount, openHoldCount } of nodes) t.same([waitingCount, openHoldCount], [0, 0])
  for (const account of ['acme', 'team', 'other']) t.match(await rowOf(store, account), { held: 0 })
  await assertBooks(t, store)
}

for (const durable of [false, true]) {
  forEachEngine(t, `a ${durable ? 'durable' : 'usual'} reservation gets held money as soon as it is free`, async (t, database) => {
    const world = await createWorld(database, [])
    const { ledger, time } = world
    const first = await granted(world, ledger.reserve(reservation(1_000, { durable })))
    const waiting = ask(ledger, 900, { durable })
    await time.advance(900)
    t.ok(isWaiting(waiting))
    t.equal(ledger.waitingCount, 1)
    first.settle(posting(100))
    await time.advance(1)
    t.equal(waiting.hold?.amountNano, 900)
    await finish(t, world, waiting)
  })
}

forEachEngine(t, 'after two seconds it is refused, so that the official clients try again', async (t, database) => {
  const world = await createWorld(database, [1_000])
  const { ledger, time } = world
  const waiting = ask(ledger, 1)
  await time.advance(1_990)
  t.ok(isWaiting(waiting))
  await time.advance(60)
  t.match(waiting.error, moneyHeld)
  const { headers } = waiting.error as GatewayError
  t.ok(Number(headers['retry-after-ms']) >= 1000 && Number(headers['retry-after-ms']) <= 2000)
  t.ok(Number(headers['retry-after']) * 1000 >= Number(headers['retry-after-ms']))
  t.notOk('x-should-retry' in headers)
  await finish(t, world)
})

forEachEngine(t, 'its wait ends before the deadline of its request', async (t, database) => {
  const world = await createWorld(database, [1_000])
  const { ledger, time } = world
  const waiting = ask(ledger, 1, { dueMs: time.now() + 500 })
  await time.advance(500)
  t.match(waiting.error, moneyHeld)
  await finish(t, world)
})

forEachEngine(t, 'once the money is spent, it is refused for good', async (t, database) => {
  const world = await createWorld(database, [1_000])
  const { ledger, time, holds: [first] } = world
  const [fits, tooLarge] = [ask(ledger, 99), ask(ledger, 101)]
  const never = ask(ledger, 1_001)
  await time.advance(100)
  t.match(never.error, { status: 402, code: 'insufficient_quota', headers: { 'x-should-retry': 'false' } },
    'more than the account has')
  first?.settle(posting(900))
  await time.advance(100)
  t.ok(fits.hold)
  t.match(tooLarge.error, { status: 402, code: 'insufficient_quota' })
  await finish(t, world, fits)
})

forEachEngine(t, 'first come, first served: a small one does not take what a large one waits for', async (t, database) => {
  const world = await createWorld(database, [400, 400, 200])
  const { ledger, time, holds: [first, second] } = world
  const large = ask(ledger, 700)
  await time.advance(500)
  const small = ask(ledger, 100)
  first?.release()
  await time.advance(500)
  t.ok(isWaiting(large) && isWaiting(small), 'the first 400 are kept for the large one')
  second?.release()
  await time.advance(1)
  t.ok(large.hold)
  t.ok(small.hold, 'and the rest is enough for the small one')
  await finish(t, world, large, small)
})

forEachEngine(t, 'a small one behind a large one that never fits is granted when its own wait ends', async (t, database) => {
  const world = await createWorld(database, [600, 100])
  const { ledger, time } = world
  const large = ask(ledger, 500)
  await time.advance(1_000)
  const small = ask(ledger, 50)
  await time.advance(990)
  t.ok(isWaiting(large) && isWaiting(small))
  await time.advance(100)
  t.match(large.error, moneyHeld)
  t.ok(small.hold)
  await finish(t, world, small)
})

forEachEngine(t, 'who waits for a parent\'s money holds up its children, not other accounts', async (t, database) => {
  const world = await createWorld(database, [])
  const { ledger, time } = world
  const first = await granted(world, ledger.reserve(reservation(950, { chain: ['other', 'team'] })))
  const waiting = ask(ledger, 100, { chain: ['acme', 'team'] })
  await time.advance(100)
  const child = ask(ledger, 10, { chain: ['other', 'team'] })
  const alone = ask(ledger, 10)
  await time.advance(100)
  t.ok(alone.hold, 'its own account has enough')
  t.ok(isWaiting(child) && isWaiting(waiting))
  first.release()
  await time.advance(1)
  t.ok(waiting.hold)
  t.ok(child.hold)
  await finish(t, world, waiting, child, alone)
})

forEachEngine(t, 'a client that disconnects stops waiting, and lets the next one pass', async (t, database) => {
  const world = await createWorld(database, [900])
  const { ledger, time } = world
  const leaving = new AbortController()
  const large = ask(ledger, 500, { signal: leaving.signal })
  await time.advance(100)
  const small = ask(ledger, 100)
  await time.advance(100)
  t.ok(isWaiting(small))
  leaving.abort()
  await time.advance(1)
  t.match(large.error, { name: 'UpstreamError', kind: 'aborted', sent: 'no' })
  t.ok(small.hold)
  await finish(t, world, small)
})

forEachEngine(t, 'a gateway that stops refuses those that wait at once', async (t, database) => {
  const world = await createWorld(database, [1_000])
  const { ledger, time } = world
  const waiting = [ask(ledger, 100), ask(ledger, 100, { durable: true })]
  await time.advance(120)
  ledger.refuseWaiting()
  const later = ask(ledger, 100)
  await time.advance(20)
  for (const { error } of waiting) t.match(error, { status: 503, code: 'shutting_down' })
  t.match(later.error, moneyHeld)
  await finish(t, world)
})

forEachEngine(t, 'the number that wait is bounded, for each account and in all', async (t, database) => {
  const world = await createWorld(database, [1_000], { maxWaitingForAccount: 2, maxWaitingForMoney: 3 })
  const { ledger, time } = world
  const other = await granted(world, ledger.reserve(reservation(1_000, { chain: ['other'] })))
  const waiting = [ask(ledger, 1), ask(ledger, 1)]
  await time.advance(60)
  await t.rejects(async () => await ledger.reserve(reservation(1)), moneyHeld)
  waiting.push(ask(ledger, 1, { chain: ['other'] }))
  await time.advance(60)
  await t.rejects(async () => await ledger.reserve(reservation(1, { chain: ['other'] })), moneyHeld)
  t.equal(ledger.openHoldCount, 5, 'those refused are forgotten')
  for (const hold of [other, ...world.holds]) hold.release()
  await time.advance(100)
  await finish(t, world, ...waiting)
})

forEachEngine(t, 'money of another process ends the wait: a deposit, or the holds of another node', async (t, database) => {
  const world = await createWorld(database, [])
  const { store, time, ledger, node } = world
  const { ledger: elsewhere } = node('b')
  const first = await granted(world, elsewhere.reserve(reservation(1_000)))
  const waiting = ask(ledger, 300)
  await time.advance(500)
  t.ok(isWaiting(waiting))
  await createAccounts(store).deposit({ id: 'more', account: 'acme', amountNano: 300 })
  await time.advance(60)
  t.ok(waiting.hold)
  const again = ask(ledger, 900)
  await time.advance(60)
  first.settle(posting(10))
  await time.advance(100)
  t.ok(again.hold)
  await finish(t, { ...world, nodes: [ledger, elsewhere] }, waiting, again)
})

forEachEngine(t, 'a database that cannot be reached refuses those that wait', async (t, database) => {
  const { time, store, node } = await createCluster(database, { acme: 1_000 })
  const { ledger, connection } = node('a')
  const first = await granted({ time }, ledger.reserve(reservation(1_000)))
  const waiting = ask(ledger, 100, { durable: true })
  await time.advance(120)
  connection.weather = 'away'
  await time.advance(120)
  t.match(waiting.error, { name: 'StoreUnavailable' })
  connection.weather = 'well'
  first.release()
  await time.advance(3_000)
  t.same([ledger.waitingCount, ledger.openHoldCount], [0, 0])
  t.match(await rowOf(store), { held: 0 })
})
