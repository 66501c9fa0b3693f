import t from 'tap'
import { breakerDefaults } from '../../../schemas/config/requests.ts'
import { createBreaker } from '../../../services/deployments/breaker.ts'
import type { BreakerConfig } from '../../../services/catalogue/types.ts'

const options = { ...breakerDefaults, failures: 3, minRequests: 10, windowMs: 1000, openMs: 100 }

function breakerWith (more: Partial<BreakerConfig> = {}, random = () => 0.5) {
  const breaker = createBreaker({ options: () => ({ ...options, ...more }), random })
  /** One call that ends at once; returns whether it was let through. */
  const call = (ends: 'well' | 'badly', nowMs: number) => {
    const ticket = breaker.enter(nowMs)
    if (ticket !== null) breaker[ends === 'well' ? 'succeeded' : 'failed'](ticket, nowMs)
    return ticket !== null
  }
  return { breaker, call }
}

t.test('failures in a row open it, a success in between does not let them add up', async t => {
  const { breaker, call } = breakerWith()
  for (const end of ['badly', 'badly', 'well', 'badly', 'badly'] as const) t.ok(call(end, 0))
  t.equal(breaker.standing(0), 'ready')
  call('badly', 0)
  t.equal(breaker.standing(0), 'open')
  t.notOk(call('well', 99))
  t.equal(breaker.waitMs(60), 40)
})

t.test('half-open lets one request through, whose end decides', async t => {
  const { breaker, call } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  t.equal(breaker.standing(100), 'ready')
  const probe = breaker.enter(100) ?? -1
  t.equal(breaker.standing(100), 'open')
  t.equal(breaker.enter(100), null, 'only one')
  breaker.failed(probe, 110)
  t.equal(breaker.standing(309), 'open', 'twice as long the second time')
  t.ok(call('well', 310))
  t.ok(call('badly', 310), 'closed again')
  for (let i = 0; i < 2; i++) call('badly', 310)
  t.equal(breaker.waitMs(310), 100, 'and as short as the first time')
})

t.test('a probe that says nothing gives its place to the next', async t => {
  const { breaker, call } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.left(breaker.enter(200) ?? -1)
  t.ok(call('well', 200))
  t.equal(breaker.standing(200), 'ready')
})

t.test('what began before it opened says nothing about now', async t => {
  const { breaker, call } = breakerWith()
  const early = breaker.enter(0) ?? -1
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.succeeded(early, 50)
  t.equal(breaker.standing(50), 'open')
  const probe = breaker.enter(100) ?? -1
  breaker.failed(early, 101)
  breaker.succeeded(probe, 102)
  t.equal(breaker.standing(102), 'ready')
})

t.test('too large a share of failures opens it, once there are enough calls, within the window', async t => {
  const { breaker, call } = breakerWith({ failures: 1000 })
  const ends = ['well', 'badly'] as const
  for (let i = 0; i < 9; i++) call(ends[i % 2] ?? 'well', 0)
  t.equal(breaker.standing(0), 'ready', 'nine are too few')
  call('badly', 1)
  t.equal(breaker.standing(1), 'open')

  const { breaker: slow, call: later } = breakerWith({ failures: 1000 })
  for (let i = 0; i < 40; i++) later(ends[i % 2] ?? 'well', i * 200)
  t.equal(slow.standing(8000), 'ready', 'never ten within a window')
})

t.test('it is never open for longer than a minute, and never exactly as long as elsewhere', async t => {
  for (const [random, most] of [[0, 48_000], [0.999999, 72_000]] as const) {
    const { breaker, call } = breakerWith({ failures: 1 }, () => random)
    let now = 0
    for (let i = 0; i < 30; i++) {
      call('badly', now)
      now += breaker.waitMs(now)
    }
    call('badly', now)
    t.ok(Math.abs(breaker.waitMs(now) - most) < 1)
  }
})

t.test('a deployment that asked for a pause rests, up to a minute, and is not open', async t => {
  const { breaker, call } = breakerWith()
  breaker.rest(1_000_000, 0)
  t.equal(breaker.standing(59_999), 'resting')
  t.ok(call('well', 0), 'who must, may')
  t.equal(breaker.standing(60_000), 'ready')
})

t.test('a probe from outside opens it, and lets it try early', async t => {
  const { breaker, call } = breakerWith()
  breaker.trip(0)
  t.equal(breaker.standing(50), 'open')
  breaker.probe()
  t.ok(call('well', 51))
  t.equal(breaker.standing(51), 'ready')
})
