import t from 'tap'
import { breakerDefaults } from '../../../services/config/defaults.ts'
import { createCircuitBreaker } from '../../../services/deployments/circuit-breaker.ts'
import type { BreakerConfig } from '../../../services/catalogue/types.ts'

const options = { ...breakerDefaults, failures: 3, minRequests: 10, windowMs: 1000, openMs: 100 }

function breakerWith (more: Partial<BreakerConfig> = {}, random = () => 0.5) {
  const breaker = createCircuitBreaker({ config: () => ({ breaker: { ...options, ...more } }), random })
  /** Makes one call; returns whether it was let through. */
  const call = (ends: 'well' | 'badly', nowMs: number) => {
    const permit = breaker.acquire(nowMs)
    if (permit !== null) breaker[ends === 'well' ? 'succeeded' : 'failed'](permit, nowMs)
    return permit !== null
  }
  return { breaker, call }
}

t.test('failures in a row open it; a success in between resets the count', async t => {
  const { breaker, call } = breakerWith()
  for (const end of ['badly', 'badly', 'well', 'badly', 'badly'] as const) t.ok(call(end, 0))
  t.equal(breaker.state(0), 'ready')
  call('badly', 0)
  t.equal(breaker.state(0), 'open')
  t.notOk(call('well', 99))
  t.equal(breaker.waitMs(60), 40)
})

t.test('half-open lets one call through, whose result closes or opens it', async t => {
  const { breaker, call } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  t.equal(breaker.state(100), 'ready')
  const probe = breaker.acquire(100) ?? -1
  t.equal(breaker.state(100), 'open')
  t.equal(breaker.acquire(100), null, 'a single call')
  breaker.failed(probe, 110)
  t.equal(breaker.state(309), 'open', 'twice as long the second time')
  t.ok(call('well', 310))
  t.ok(call('badly', 310), 'closed again')
  for (let i = 0; i < 2; i++) call('badly', 310)
  t.equal(breaker.waitMs(310), 100, 'as short as the first time')
})

t.test('a released permit leaves the half-open state to the next call', async t => {
  const { breaker, call } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.release(breaker.acquire(200) ?? -1)
  t.ok(call('well', 200))
  t.equal(breaker.state(200), 'ready')
})

t.test('results of calls from before it opened are ignored', async t => {
  const { breaker, call } = breakerWith()
  const early = breaker.acquire(0) ?? -1
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.succeeded(early, 50)
  t.equal(breaker.state(50), 'open')
  const probe = breaker.acquire(100) ?? -1
  breaker.failed(early, 101)
  breaker.succeeded(probe, 102)
  t.equal(breaker.state(102), 'ready')
})

t.test('a high error rate within the window opens it once there are enough calls', async t => {
  const { breaker, call } = breakerWith({ failures: 1000 })
  const ends = ['well', 'badly'] as const
  for (let i = 0; i < 9; i++) call(ends[i % 2] ?? 'well', 0)
  t.equal(breaker.state(0), 'ready', 'nine are too few')
  call('badly', 1)
  t.equal(breaker.state(1), 'open')

  const { breaker: slow, call: later } = breakerWith({ failures: 1000 })
  for (let i = 0; i < 40; i++) later(ends[i % 2] ?? 'well', i * 200)
  t.equal(slow.state(8000), 'ready', 'never ten within a window')
})

t.test('the open time is at most a minute, with jitter', async t => {
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

t.test('a pause lasts a minute at most and does not stop calls', async t => {
  const { breaker, call } = breakerWith()
  breaker.pause(1_000_000, 0)
  t.equal(breaker.state(59_999), 'paused')
  t.ok(call('well', 0), 'a call without an alternative')
  t.equal(breaker.state(60_000), 'ready')
})

t.test('a probe trips it, and makes it half-open early', async t => {
  const { breaker, call } = breakerWith()
  breaker.trip(0)
  t.equal(breaker.state(50), 'open')
  breaker.halfOpen()
  t.ok(call('well', 51))
  t.equal(breaker.state(51), 'ready')
})
