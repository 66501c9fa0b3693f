import t from 'tap'
import type { AllowanceGrant, AllowanceRequest } from '../../../../services/keys/limits/allowances.ts'
import type { LimitCounter } from '../../../../services/keys/limits/counter.ts'
import { RateCounter } from '../../../../services/keys/limits/rate-counter.ts'

const minute = 10
const startMs = minute * 60_000

const create = (limit: number): LimitCounter => new RateCounter('key:a', 'requests', limit)

/** Grants a request in full, or as given; the window says that nodes used `used` before. */
function grantOf (
  request: AllowanceRequest, { used = 0, granted = request.wanted, waitMs = 0 } = {}
): AllowanceGrant {
  return { request, granted, waitMs, window: { minute: request.minute, used, previous: 0 } }
}

/** Lets a request wait for `amount` and grants what the counter then requests. */
function fill (counter: LimitCounter, amount: number, nowMs = startMs): AllowanceRequest {
  counter.addWaiting(amount, nowMs)
  const request = counter.nextRequest(nowMs, false)!
  counter.receive(grantOf(request), nowMs)
  return request
}

/** The store did not answer the request. */
function fail (counter: LimitCounter, request: AllowanceRequest): void {
  counter.takeBack(request)
  counter.continueAlone(startMs)
}

t.test('an allowance is a sixteenth of the limit, or what requests wait for', async t => {
  const counter = create(160)
  t.equal(counter.canTake(1, startMs), false, 'nothing without an allowance')
  t.match(fill(counter, 1), { scope: 'key:a', kind: 'requests', limit: 160, minute, need: 1, waiting: 1, wanted: 10 })
  t.equal(counter.canTake(10, startMs), true)
  t.equal(counter.canTake(11, startMs), false)

  const other = create(160)
  other.addWaiting(30, startMs)
  other.addWaiting(4, startMs)
  t.match(other.nextRequest(startMs, false), { need: 4, waiting: 34, wanted: 34 }, 'the smallest need, and all together')
  t.match(other.nextRequest(startMs, false), { need: 0, waiting: 0 }, 'a need is requested once')
})

t.test('the next allowance is requested before the present one is used up', async t => {
  const counter = create(160)
  fill(counter, 1)
  t.equal(counter.isLow, false)
  t.equal(counter.nextRequest(startMs, false), null, 'enough is left')
  counter.take(8, startMs)
  t.equal(counter.isLow, true)
  t.match(counter.nextRequest(startMs, false), { taken: 0, need: 0, wanted: 10, returned: null })
})

t.test('what is used beyond the allowance is requested as taken, once', async t => {
  const counter = create(160)
  fill(counter, 1)
  counter.correct(25, minute, startMs)
  t.equal(counter.canTake(1, startMs), false)
  t.match(counter.nextRequest(startMs, false), { taken: 15 })
  t.match(counter.nextRequest(startMs, false), { taken: 0 })
})

t.test('an idle counter returns its allowance', async t => {
  const counter = create(160)
  fill(counter, 1)
  counter.take(4, startMs)
  t.equal(counter.isEmpty, false)
  t.match(counter.nextRequest(startMs, true), { wanted: 0, returned: { minute, amount: 6 } })
  t.equal(counter.canTake(1, startMs), false)
  t.equal(counter.isEmpty, true)
  t.equal(counter.nextRequest(startMs, true), null)
})

t.test('an unused allowance ends with its minute and is returned for that minute', async t => {
  const counter = create(160)
  fill(counter, 1)
  counter.take(3, startMs)
  t.equal(counter.canTake(1, startMs + 60_000), false)
  const returned = { minute, amount: 7 }
  t.match(counter.nextRequest(startMs + 60_000, false), { minute: minute + 1, returned })
})

t.test('a correction downwards frees allowance in its minute, and is returned in the next', async t => {
  const counter = create(160)
  fill(counter, 1)
  counter.take(10, startMs)
  counter.correct(-4, minute, startMs)
  t.equal(counter.canTake(4, startMs), true)
  counter.take(4, startMs)
  const laterMs = startMs + 60_000
  counter.correct(-3, minute, laterMs)
  t.match(counter.nextRequest(laterMs, false), { returned: { minute, amount: 3 } })
  counter.correct(-2, minute - 5, laterMs)
  t.match(counter.nextRequest(laterMs, false), { returned: null }, 'an older minute no longer counts')
})

t.test('a grant that arrives in the next minute is returned', async t => {
  const counter = create(160)
  counter.addWaiting(1, startMs)
  const request = counter.nextRequest(startMs, false)!
  counter.receive(grantOf(request), startMs + 60_000)
  t.equal(counter.canTake(1, startMs + 60_000), false)
  t.match(counter.nextRequest(startMs + 60_000, false), { returned: { minute, amount: 10 } })
})

t.test('a refusal applies for a second at most, and names the whole time to wait', async t => {
  const counter = create(160)
  t.equal(counter.refusedForMs(startMs), null)
  counter.addWaiting(1, startMs)
  const request = counter.nextRequest(startMs, false)!
  counter.receive(grantOf(request, { granted: 0, waitMs: 20_000, used: 160 }), startMs)
  t.equal(counter.refusedForMs(startMs + 400), 19_600)
  t.equal(counter.refusedForMs(startMs + 1000), null)
  t.match(counter.remaining(startMs), { left: 0, resetMs: 120_000 })
})

t.test('the remaining amount is what no node has taken, plus the rest of the own allowance', async t => {
  const counter = create(160)
  counter.addWaiting(1, startMs)
  const request = counter.nextRequest(startMs, false)!
  counter.receive(grantOf(request, { used: 100 }), startMs)
  t.equal(counter.remaining(startMs).left, 70)
  counter.take(4, startMs)
  t.equal(counter.remaining(startMs).left, 66)
  t.equal(counter.remaining(startMs + 180_000).left, 160, 'never more than the limit')
})

t.test('alone, a node admits up to the limit for a moment, and reports to the store later', async t => {
  const counter = create(20)
  counter.addWaiting(1, startMs)
  fail(counter, counter.nextRequest(startMs, false)!)
  for (let taken = 0; taken < 20; taken++) {
    t.equal(counter.canTake(1, startMs), true)
    counter.take(1, startMs)
  }
  t.equal(counter.canTake(1, startMs), false, 'the limit is reached')
  const request = counter.nextRequest(startMs, false)!
  t.match(request, { taken: 20 })
  fail(counter, request)
  t.match(counter.nextRequest(startMs, false), { taken: 20 }, 'a request that failed is repeated')

  const idle = create(160)
  fill(idle, 1)
  fail(idle, idle.nextRequest(startMs, true)!)
  t.equal(idle.canTake(160, startMs + 1000), false, 'for a second')
  t.match(idle.nextRequest(startMs, true), { returned: { minute, amount: 10 } })
})
