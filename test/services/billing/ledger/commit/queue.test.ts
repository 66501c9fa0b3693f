import t from 'tap'
import { createQueue } from '../../../../../services/billing/ledger/commit/queue.ts'
import { withDefaults } from '../../../../../services/billing/ledger/options.ts'
import type { LedgerOptions } from '../../../../../services/billing/ledger/options.ts'
import type { Write } from '../../../../../services/billing/ledger/commit/writer.ts'
import type { OpenHold, PendingReservation, Settlement } from '../../../../../services/billing/ledger/types.ts'
import { StoreUnavailable } from '../../../../../services/store/store.ts'
import { charge } from '../helper.ts'
import { createTime } from '../simulation.ts'

const hold: OpenHold = { id: 'h', chain: ['acme'], key: 'key', amountNano: 10, grant: null, fresh: false }
const away = new StoreUnavailable(new Error('away'))

/** A queue in simulated time; `batches` are the sizes of those that `write` was given. */
function createTest (
  write: (...args: Parameters<Write>) => Promise<Settlement[] | void> = async () => {},
  options: Partial<LedgerOptions> = {}
) {
  const time = createTime()
  const { clock } = time
  const { timers, monotonic } = time.clocksOf({})
  const batches: [settlements: number, reservations: number][] = []
  const outages: StoreUnavailable[] = []
  const queue = createQueue({
    async write (batch, waitingPayers) {
      batches.push([batch.settlements.length, batch.reservations.length])
      return await write(batch, waitingPayers) ?? []
    },
    options: withDefaults('sqlite', { flushMs: 20, batchSize: 3, ...options }),
    clock,
    timers,
    monotonic,
    onOutage: outage => outages.push(outage)
  })
  return { queue, batches, outages, clock, advance: (ms: number) => time.advance(ms) }
}

/** A reservation that keeps what became of it. */
function pending () {
  const outcome = { granted: 0, refused: [] as unknown[] }
  const reservation: PendingReservation = {
    id: 'r',
    chain: ['acme'],
    key: 'key',
    amountNano: 10,
    durable: null,
    granted: () => { outcome.granted++ },
    refused: error => { outcome.refused.push(error) }
  }
  return { reservation, outcome }
}

t.test('settlements alone are collected, and written together', async t => {
  const { queue, batches, advance } = createTest()
  const settled = [queue.settle(hold, charge(1)), queue.settle(hold, charge(2))]
  await advance(19)
  t.same(batches, [])
  t.equal(queue.unflushed, 2)
  await advance(1)
  t.same(batches, [[2, 0]])
  await Promise.all(settled)
  t.equal(queue.unflushed, 0)
})

t.test('a reservation, or a full batch, is written at once', async t => {
  const { queue, batches, advance } = createTest()
  queue.settle(hold, charge(1))
  queue.reserve(pending().reservation)
  t.equal(queue.waiting, 1)
  await advance(0)
  t.same(batches, [[1, 1]])
  for (let count = 0; count < 3; count++) queue.settle(hold, charge(1))
  await advance(0)
  t.same(batches, [[1, 1], [3, 0]])
})

t.test('a settlement waits as long for its batch whether another one is being written or not', async t => {
  const first = Promise.withResolvers<void>()
  const { queue, batches, advance } = createTest(async () => {
    if (batches.length === 1) await first.promise
  })
  queue.settle(hold, charge(1))
  await advance(20)
  t.same(batches, [[1, 0]])
  queue.settle(hold, charge(2))
  await advance(15)
  first.resolve()
  await advance(4)
  t.same(batches, [[1, 0]])
  await advance(1)
  t.same(batches, [[1, 0], [1, 0]], 'not later than without')
  await advance(100)
  t.equal(batches.length, 2, 'and nothing is written for nothing')
})

t.test('what has waited long enough is written right after the batch before', async t => {
  const first = Promise.withResolvers<void>()
  const { queue, batches, advance } = createTest(async () => {
    if (batches.length === 1) await first.promise
  })
  queue.settle(hold, charge(1))
  await advance(20)
  queue.settle(hold, charge(2))
  await advance(50)
  first.resolve()
  await advance(0)
  t.same(batches, [[1, 0], [1, 0]])
  await advance(100)
  t.equal(batches.length, 2)
})

t.test('a batch takes what arrives while the one before is written', async t => {
  const first = Promise.withResolvers<void>()
  const { queue, batches, advance } = createTest(async () => {
    if (batches.length === 1) await first.promise
  })
  queue.reserve(pending().reservation)
  await advance(0)
  for (let count = 0; count < 4; count++) queue.settle(hold, charge(1))
  await advance(100)
  t.same(batches, [[0, 1]], 'one at a time')
  first.resolve()
  await advance(20)
  t.same(batches, [[0, 1], [3, 0], [1, 0]])
})

t.test('during an outage settlements are retried with backoff, reservations refused', async t => {
  let isAway = true
  const { queue, batches, outages, advance } = createTest(async () => { if (isAway) throw away })
  const settled = queue.settle(hold, charge(1))
  const { reservation, outcome } = pending()
  queue.reserve(reservation)
  await advance(0)
  t.same(outcome.refused, [away])
  t.equal(queue.outage, away)
  const flushed = t.rejects(queue.flush(), away)
  await advance(25 + 50 + 100)
  await flushed
  t.same(batches, [[1, 1], [1, 0], [1, 0], [1, 0]])
  t.equal(outages.length, 4)
  isAway = false
  await advance(500)
  await settled
  t.equal(queue.outage, null)
  t.equal(queue.unflushed, 0)
})

t.test('settlements of a locked account are parked, and hold nothing else up', async t => {
  let isLocked = true
  const given: string[][] = []
  const waitingPayersOf: string[][] = []
  const { queue, batches, advance } = createTest(async ({ settlements }, waitingPayers) => {
    given.push(settlements.map(({ hold }) => hold.id))
    waitingPayersOf.push([...waitingPayers])
    return isLocked ? settlements.filter(({ hold }) => hold.chain.includes('locked')) : []
  })
  const term = { id: 'n/1', epoch: 1, lastSequence: 0, allowances: new Map(), dirty: new Set<never>() }
  const locked = { ...hold, id: 'locked', chain: ['locked'], grant: { term, allowances: [] }, fresh: true }
  const written: string[] = []
  const settle = (one: OpenHold) => { queue.settle(one, charge(1)).then(() => written.push(one.id)) }
  settle(hold)
  settle(locked)
  await advance(20)
  t.equal(queue.unflushed, 1)
  t.same(written, [], 'both are on disk together')
  settle({ ...hold, id: 'other' })
  await advance(20)
  t.same(written, ['other'])
  t.same(waitingPayersOf, [[], ['locked']])
  const flushed = queue.flush()
  await advance(0)
  await flushed
  t.equal(queue.unflushed, 1, 'what waits is left')
  t.equal(queue.outage, null)
  isLocked = false
  await advance(100)
  t.same(written, ['other', 'h', 'locked'])
  t.equal(queue.unflushed, 0)
  t.ok(batches.length < 10)
  t.same(given.at(-2), ['locked'], 'before newer batches')
})

t.test('a batch counts as written only once what is parked of it is', async t => {
  let isLocked = true
  const { queue, advance } = createTest(async ({ settlements }) => {
    return isLocked ? settlements.slice(1) : []
  })
  queue.settle(hold, charge(1))
  let ended = 'not yet'
  queue.settle(hold, charge(2)).then(() => { ended = 'written' })
  await advance(20)
  t.equal(queue.unflushed, 1)
  t.equal(ended, 'not yet')
  isLocked = false
  await advance(1000)
  t.equal(queue.unflushed, 0)
  t.equal(ended, 'written')
})

t.test('many that are parked are written one batch after the other', async t => {
  let isLocked = true
  const { queue, batches, advance } = createTest(async ({ settlements }) =>
    isLocked ? [...settlements] : settlements.slice(3))
  for (let count = 0; count < 8; count++) queue.settle(hold, charge(1))
  await advance(80)
  t.equal(queue.unflushed, 8)
  isLocked = false
  const before = batches.length
  await advance(100)
  t.equal(queue.unflushed, 0)
  t.same(batches.slice(before).filter(([settlements]) => settlements > 0), [[8, 0], [5, 0], [2, 0]])
})

t.test('parked settlements survive an outage', async t => {
  let answer: 'locked' | 'away' | 'well' = 'locked'
  const { queue, advance } = createTest(async ({ settlements }) => {
    if (answer === 'away') throw away
    return answer === 'locked' ? [...settlements] : []
  })
  const settled = queue.settle(hold, charge(1))
  await advance(20)
  answer = 'away'
  await advance(1_000)
  t.equal(queue.outage, away)
  answer = 'well'
  await advance(600)
  await settled
  t.equal(queue.unflushed, 0)
})

t.test('settlements carry the time of their batch, after an outage their own', async t => {
  let isAway = false
  const times: number[] = []
  const { queue, clock, advance } = createTest(async ({ settlements }) => {
    if (isAway) throw away
    times.push(...settlements.map(({ at }) => at))
  })
  const start = clock()
  queue.settle(hold, charge(1))
  await advance(10)
  queue.settle(hold, charge(2))
  await advance(10)
  t.same(times, [start, start])

  isAway = true
  queue.settle(hold, charge(3))
  await advance(30)
  queue.settle(hold, charge(4))
  isAway = false
  await advance(100)
  t.same(times.slice(2), [start + 20, start + 50])
})

t.test('an error of an unknown kind drops nothing: the batch is written again, and the outage is known', async t => {
  let isWrong = true
  const { queue, outages, advance } = createTest(async () => { if (isWrong) throw new Error('never seen before') })
  const settled = queue.settle(hold, charge(1))
  await advance(5_000)
  t.equal(queue.unflushed, 1)
  t.ok(queue.outageMs > 4_000, `${queue.outageMs} ms`)
  t.match(outages[0], { problem: 'refused', cause: { message: 'never seen before' } })
  isWrong = false
  await advance(500)
  await settled
  t.equal(queue.unflushed, 0)
  t.equal(queue.outageMs, 0)
})

t.test('touch writes an empty batch, flush does not wait for the pause', async t => {
  const { queue, batches, advance } = createTest()
  queue.touch()
  await advance(20)
  t.same(batches, [[0, 0]])
  queue.settle(hold, charge(1))
  const flushed = queue.flush()
  await advance(0)
  await flushed
  t.same(batches, [[0, 0], [1, 0]])
  await queue.flush()
})

t.test('fresh holds get sequence numbers in the order of their settlement', async t => {
  const sequences: number[] = []
  const { queue, advance } = createTest(async ({ settlements }) => {
    sequences.push(...settlements.map(({ sequence }) => sequence))
  }, { batchSize: 10 })
  const term = { id: 'n/1', epoch: 1, lastSequence: 6, allowances: new Map(), dirty: new Set<never>() }
  const grant = { term, allowances: [] }
  queue.settle({ ...hold, grant, fresh: true }, charge(1))
  queue.settle({ ...hold, grant, fresh: false }, charge(1))
  queue.settle({ ...hold, grant, fresh: true }, charge(1))
  await advance(20)
  t.same(sequences, [7, 0, 8])
})

t.test('nothing is written after stop', async t => {
  const { queue, batches, advance } = createTest()
  queue.settle(hold, charge(1))
  await queue.stop()
  await queue.flush()
  await advance(100)
  t.same(batches, [])
})
