import t from 'tap'
import type { AllowanceRequest } from '../../../../services/keys/limits/allowances.ts'
import type { LimitCounter } from '../../../../services/keys/limits/counter.ts'
import { slotLeaseMs } from '../../../../services/keys/limits/statements.ts'
import { SlotCounter } from '../../../../services/keys/limits/slot-counter.ts'

const startMs = 600_000

const create = (limit: number): LimitCounter => new SlotCounter('account:a', limit)

function receive (
  counter: LimitCounter, request: AllowanceRequest, granted: number, { waitMs = 0, ofOthers = 0 } = {}
): void {
  const window = { minute: request.minute, used: ofOthers, previous: 0 }
  counter.receive({ request, granted, waitMs, window }, startMs)
}

/** A counter that leases `granted` slots. */
function withSlots (limit: number, granted: number): LimitCounter {
  const counter = create(limit)
  counter.addWaiting(1, startMs)
  receive(counter, counter.nextRequest(startMs, false)!, granted)
  return counter
}

/** The store did not answer the request. */
function fail (counter: LimitCounter, request: AllowanceRequest): void {
  counter.takeBack(request)
  counter.continueAlone(startMs)
}

t.test('slots are requested for waiting requests, and some in reserve', async t => {
  const counter = create(64)
  t.equal(counter.canTake(1, startMs), false)
  t.equal(counter.nextRequest(startMs, false), null, 'nothing waits')
  counter.addWaiting(1, startMs)
  counter.addWaiting(1, startMs)
  t.match(counter.nextRequest(startMs, false), {
    scope: 'account:a', kind: 'concurrent', limit: 64, taken: 0, need: 1, waiting: 2, wanted: 4, returned: null
  })
})

t.test('as many requests run as slots are leased', async t => {
  const counter = withSlots(10, 2)
  for (const isFree of [true, true, false]) {
    t.equal(counter.canTake(1, startMs), isFree)
    if (isFree) counter.take(1, startMs)
  }
  counter.correct(-1, 0, startMs)
  t.equal(counter.canTake(1, startMs), true, 'an ended request frees its slot')
  counter.limit = 1
  t.equal(counter.canTake(1, startMs), false, 'a lowered limit applies at once')
})

t.test('a lease is renewed in time, and not used until its very end', async t => {
  const counter = withSlots(10, 2)
  counter.take(1, startMs)
  t.equal(counter.nextRequest(startMs + 1000, false), null)
  t.match(counter.nextRequest(startMs + slotLeaseMs / 2, false), { taken: 1, need: 0, wanted: 1 })
  t.equal(counter.canTake(1, startMs + slotLeaseMs - 2001), true)
  t.equal(counter.canTake(1, startMs + slotLeaseMs - 2000), false)
})

t.test('an idle counter returns its spare slots and keeps those in use', async t => {
  const counter = withSlots(10, 3)
  counter.take(1, startMs)
  const request = counter.nextRequest(startMs, true)!
  t.match(request, { taken: 1, wanted: 0 })
  t.equal(counter.canTake(1, startMs), false, 'another node may have them from now on')
  receive(counter, request, 1)
  t.equal(counter.isEmpty, false)
  counter.correct(-1, 0, startMs)
  const last = counter.nextRequest(startMs, true)!
  t.match(last, { taken: 0, wanted: 0 })
  receive(counter, last, 0)
  t.equal(counter.isEmpty, true)
})

t.test('a refusal applies for a quarter of a second', async t => {
  const counter = create(4)
  counter.addWaiting(1, startMs)
  receive(counter, counter.nextRequest(startMs, false)!, 0, { waitMs: 1000, ofOthers: 4 })
  t.equal(counter.refusedForMs(startMs + 249), 1000)
  t.equal(counter.refusedForMs(startMs + 250), null)
  t.same(counter.remaining(startMs), { left: 0, resetMs: 0 })
})

t.test('the remaining slots are those that no node uses', async t => {
  const counter = create(10)
  counter.addWaiting(1, startMs)
  receive(counter, counter.nextRequest(startMs, false)!, 3, { ofOthers: 5 })
  counter.take(2, startMs)
  t.same(counter.remaining(startMs), { left: 3, resetMs: 0 })
})

t.test('alone, a node uses the whole limit for a second', async t => {
  const counter = create(2)
  counter.addWaiting(1, startMs)
  fail(counter, counter.nextRequest(startMs, false)!)
  counter.take(1, startMs)
  t.equal(counter.canTake(1, startMs + 999), true)
  t.equal(counter.canTake(2, startMs + 999), false)
  t.equal(counter.canTake(1, startMs + 1000), false)
})
