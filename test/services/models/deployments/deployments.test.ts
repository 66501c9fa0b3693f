import t from 'tap'
import { breakerDefaults } from '../../../../services/config/defaults.ts'
import type { BreakerConfig } from '../../../../services/config/catalogue/types.ts'
import { createCircuitBreaker, createDeployments } from '../../../../services/models/deployments/deployments.ts'

const name = { provider: 'a', model: 'b' }

const config = () => ({ breaker: breakerDefaults })

t.test('an unknown deployment is available, is expected to match the prior, and stays unknown', async t => {
  const deployments = createDeployments({ config })
  const prior = { firstTokenMs: 7, tokensPerSecond: 8 }
  t.match(deployments.expected('a', 'b', prior), prior)
  t.ok(deployments.isAvailable(name))
  t.equal(deployments.list().length, 0)
})

t.test('a deployment is unavailable while it is paused or its breaker is open', async t => {
  const time = { ms: 0 }
  const monotonic = () => time.ms
  const deployments = createDeployments({ config, monotonic, random: () => 0.5 })
  const { breaker } = deployments.of(name)
  breaker.pause(100, 0)
  t.notOk(deployments.isAvailable(name))
  time.ms = 100
  t.ok(deployments.isAvailable(name))
  breaker.trip(100)
  t.notOk(deployments.isAvailable(name))
  time.ms += breakerDefaults.openMs
  t.ok(deployments.isAvailable(name))
})

t.test('the least recently used deployments are evicted beyond 5000', async t => {
  const deployments = createDeployments({ config })
  for (let i = 0; i < 6000; i++) deployments.of({ provider: 'up', model: `made-up-${i}` })
  t.equal(deployments.list().length, 5000)
  t.equal(deployments.list()[0]?.name.model, 'made-up-5999')
})

const options = { ...breakerDefaults, failures: 3, minRequests: 10, windowMs: 1000, openMs: 100 }

function breakerWith (more: Partial<BreakerConfig> = {}, random = () => 0.5) {
  const breaker = createCircuitBreaker({ config: () => ({ breaker: { ...options, ...more } }), random })
  /** Makes one call of a key; returns whether it was let through. */
  const call = (ends: 'well' | 'badly' | 'slowly', nowMs: number, key = 'key') => {
    const permit = breaker.acquire(nowMs, key)
    if (permit === null) return false
    if (ends === 'badly') breaker.failed(permit, nowMs)
    else {
      breaker.responded(permit, nowMs, ends === 'slowly')
      breaker.succeeded(permit, nowMs)
    }
    return true
  }
  /** Starts a call. */
  const acquire = (nowMs: number, key = 'key', isLastWay = false) => {
    const permit = breaker.acquire(nowMs, key, isLastWay)
    if (permit === null) throw new Error('it let no call through')
    return permit
  }
  const openIt = () => { for (const key of ['some', 'other', 'some', 'other']) call('badly', 0, key) }
  return { breaker, call, acquire, openIt }
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
  const { breaker, call, acquire } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  t.equal(breaker.state(100), 'ready')
  const probe = acquire(100)
  t.equal(breaker.state(100), 'open')
  t.equal(breaker.acquire(100, 'key'), null, 'a single call')
  breaker.failed(probe, 110)
  t.equal(breaker.state(309), 'open', 'twice as long the second time')
  t.ok(call('well', 310, 'another key'))
  t.ok(call('badly', 310), 'closed again')
  for (const key of ['another key', 'key', 'another key']) call('badly', 310, key)
  t.equal(breaker.waitMs(310), 100, 'as short as the first time')
})

t.test('a key that may be the reason leaves the call that decides to others for a while', async t => {
  const { breaker, call, acquire } = breakerWith()
  for (const key of ['poisoner', 'other', 'poisoner', 'other']) call('badly', 0, key)
  t.equal(breaker.state(100), 'ready')
  t.notOk(call('badly', 100, 'poisoner'), 'it failed most')
  t.ok(call('badly', 100, 'other'))
  t.notOk(call('well', 300, 'other'), 'it failed last')
  t.ok(call('well', 300, 'poisoner'))
  t.equal(breaker.state(300), 'ready')

  breaker.trip(400)
  t.ok(call('badly', 500, 'poisoner'))
  t.notOk(call('badly', 799, 'poisoner'))
  t.ok(call('badly', 800, 'poisoner'), 'no other key came')
  breaker.failed(acquire(1300, 'poisoner'), 1300, { isAnyKeys: true })
  t.ok(call('well', 1300 + breaker.waitMs(1300), 'poisoner'), 'no prompt was the reason')
})

t.test('a released permit leaves the half-open state to the next call', async t => {
  const { breaker, call, acquire } = breakerWith()
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.release(acquire(200))
  t.ok(call('well', 200))
  t.equal(breaker.state(200), 'ready')
})

t.test('results of calls from before it opened are ignored', async t => {
  const { breaker, call, acquire } = breakerWith()
  const early = acquire(0)
  for (let i = 0; i < 3; i++) call('badly', 0)
  breaker.responded(early, 50, false)
  breaker.succeeded(early, 50)
  t.equal(breaker.state(50), 'open')
  const probe = acquire(100)
  breaker.failed(early, 101)
  breaker.responded(probe, 102, false)
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
      call('badly', now, `key ${i}`)
      now += breaker.waitMs(now)
    }
    call('badly', now)
    t.ok(Math.abs(breaker.waitMs(now) - most) < 1)
  }
})

t.test('a pause lasts a minute at most and does not stop calls', async t => {
  const { breaker, call } = breakerWith()
  t.ok(call('well', 0))
  breaker.pause(1_000_000, 0)
  t.equal(breaker.state(59_999), 'paused')
  t.ok(call('badly', 0), 'a call without an alternative')
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

t.test('one key opens it only while no other is in use', async t => {
  const { breaker, call } = breakerWith()
  call('well', 0, 'other')
  for (let count = 0; count < 50; count++) call('badly', 1, 'poisoner')
  t.equal(breaker.state(1), 'ready')
  call('badly', 2, 'other')
  t.equal(breaker.state(2), 'ready', 'one failure of another key is less than half of three')
  call('badly', 2, 'other')
  t.equal(breaker.state(2), 'open')

  const lone = breakerWith()
  lone.call('well', 0, 'other')
  for (let count = 0; count < 3; count++) lone.call('badly', 2000, 'only')
  t.equal(lone.breaker.state(2000), 'open', 'the other one was not seen for a whole window')
})

t.test('the only key in use opens it for itself, until another one has an answer or fails as often', async t => {
  const { breaker, call, acquire } = breakerWith()
  const openAlone = (nowMs: number) => { for (let count = 0; count < 3; count++) call('badly', nowMs, 'poisoner') }
  openAlone(0)
  t.same([breaker.state(1), breaker.state(1, 'poisoner'), breaker.state(1, 'other')], ['open', 'open', 'ready'])
  t.notOk(call('badly', 1, 'poisoner'))
  const many = Array.from({ length: 20 }, () => acquire(1, 'other'))
  many.forEach(permit => breaker.release(permit))
  t.ok(call('badly', 1, 'other'))
  t.equal(breaker.state(1, 'third'), 'ready', 'a failure of another key changes nothing')
  t.ok(call('well', 1, 'other'))
  t.equal(breaker.state(1), 'ready', 'its answer closes it')

  openAlone(2000)
  for (let count = 0; count < 3; count++) t.ok(call('badly', 2001, 'other'))
  t.equal(breaker.state(2001, 'third'), 'open', 'two keys that fail are several')
  t.ok(call('well', 2500, 'third'))

  openAlone(5000)
  breaker.trip(5001)
  t.equal(breaker.state(5001, 'other'), 'open', 'nor is it the prompts when a probe fails')
  t.ok(call('well', 6000, 'third'))

  openAlone(9000)
  const trial = acquire(9200, 'poisoner')
  breaker.failed(trial, 9200, { isAnyKeys: true })
  t.equal(breaker.state(9200, 'other'), 'open', 'nor when the connection fails')
})

t.test('the error rate leaves the key out that fails most', async t => {
  const { breaker, call } = breakerWith({ failures: 1000 })
  for (let count = 0; count < 100; count++) {
    call('badly', 0, 'poisoner')
    if (count % 10 === 0) call(count % 30 === 0 ? 'badly' : 'well', 0, `key-${count}`)
  }
  t.equal(breaker.state(0), 'ready', 'the others fail four times of ten')
  for (let count = 0; count < 4; count++) call('badly', 0, `key-${count}`)
  t.equal(breaker.state(0), 'open')
})

t.test('failures that no prompt can cause count for every key, and repeated ones do not count', async t => {
  const { breaker, call, acquire } = breakerWith()
  call('well', 0, 'other')
  for (let count = 0; count < 5; count++) breaker.failed(acquire(0), 0, { isAnyKeys: true, isRepeated: true })
  t.equal(breaker.state(0), 'ready')
  for (let count = 0; count < 3; count++) breaker.failed(acquire(0), 0, { isAnyKeys: true })
  t.equal(breaker.state(0), 'open')
})

t.test('while it is open, a few calls without another way are let through', async t => {
  const { breaker, acquire, openIt } = breakerWith()
  openIt()
  const ofOne = [acquire(1, 'one', true), acquire(1, 'one', true)]
  t.equal(breaker.acquire(1, 'one', true), null, 'two of a key at once')
  for (let count = 0; count < 6; count++) acquire(1, `key-${count}`, true)
  t.equal(breaker.acquire(1, 'another', true), null, 'eight in all')
  ofOne.forEach(permit => breaker.failed(permit, 2))
  t.equal(breaker.state(2), 'open')
  t.equal(breaker.waitMs(2), 98, 'their failures change nothing')
  const last = acquire(3, 'one', true)
  breaker.release(acquire(3, 'one', true))
  breaker.responded(last, 4, false)
  t.equal(breaker.state(4), 'ready', 'an answer closes it')
  breaker.failed(last, 5)
  t.equal(breaker.state(5), 'ready', 'and a stream that breaks off later is one failure')
})

t.test('a refusal of a request shows that the deployment works', async t => {
  const { breaker, acquire, openIt } = breakerWith()
  openIt()
  breaker.refused(acquire(100), 100)
  t.equal(breaker.state(100), 'ready')
})

t.test('slow answers in a row are avoided and not stopped, until a single one is fast again', async t => {
  const { breaker, call, acquire } = breakerWith()
  for (let count = 0; count < 3; count++) call('slowly', 0)
  t.equal(breaker.state(0), 'paused')
  for (let count = 0; count < 20; count++) t.ok(call('well', 50), 'calls without an alternative')
  t.equal(breaker.state(50), 'paused')
  t.equal(breaker.state(100), 'ready')
  const probe = acquire(100)
  t.equal(breaker.state(100), 'paused', 'others are preferred while one call tries it')
  t.ok(call('well', 100))
  breaker.responded(probe, 120, true)
  for (let count = 0; count < 20; count++) call('slowly', 130)
  t.equal(breaker.state(319), 'paused', 'twice as long the second time')
  t.equal(breaker.state(320), 'ready', 'whatever other calls do')
  const failing = acquire(320)
  breaker.failed(failing, 321)
  breaker.release(acquire(322))
  const refused = acquire(323)
  breaker.refused(refused, 324)
  call('well', 325)
  t.equal(breaker.state(325), 'ready')

  const fair = breakerWith()
  fair.call('well', 0, 'other')
  for (let count = 0; count < 20; count++) fair.call('slowly', 0, 'long prompts')
  t.equal(fair.breaker.state(0), 'ready', 'the long prompts of one key make nothing slow')
})

t.test('a silent deployment is tried by one call at a time, each time later, until it answers', async t => {
  const { breaker, acquire, call } = breakerWith({ failures: 1000 })
  const giveUp = (startedMs: number, nowMs: number) => {
    breaker.failed(acquire(startedMs), nowMs)
    breaker.silent(startedMs, nowMs)
  }
  for (let count = 0; count < 5; count++) giveUp(count, 500)
  t.ok(breaker.isSilent)
  t.equal(breaker.state(10_499), 'paused', 'several calls that are given up together count as one')
  t.equal(breaker.state(10_500), 'ready')
  const trial = acquire(10_500)
  t.equal(breaker.state(10_501), 'paused', 'others need not wait with it')
  breaker.failed(trial, 11_000)
  breaker.silent(10_500, 11_000)
  t.equal(breaker.state(30_999), 'paused')
  t.equal(breaker.state(31_000), 'ready')
  const answered = acquire(31_000)
  breaker.responded(answered, 31_100, false)
  t.equal(breaker.state(31_100), 'ready')
  t.notOk(breaker.isSilent)

  giveUp(40_000, 40_500)
  t.equal(breaker.state(40_500), 'paused')
  call('well', 40_600)
  t.equal(breaker.state(40_600), 'ready', 'an answer to a request without an alternative ends the silence too')
})

t.test('a call that alone takes long makes nothing silent', async t => {
  const { breaker, acquire, call } = breakerWith()
  const long = acquire(0)
  call('well', 100)
  breaker.overdue(0, 400, 200)
  t.equal(breaker.state(200), 'ready', 'others are answered')
  breaker.failed(long, 400)
  breaker.silent(0, 400)
  t.equal(breaker.state(400), 'ready')
})

t.test('while a call is overdue and nothing is answered, new requests prefer other deployments', async t => {
  const { breaker, acquire } = breakerWith()
  const first = acquire(0)
  breaker.overdue(0, 400, 200)
  t.equal(breaker.state(399), 'paused')
  t.equal(breaker.state(400), 'ready', 'unless it is given up then')
  breaker.responded(first, 300, false)
  t.equal(breaker.state(300), 'ready', 'its answer ends that')
})

t.test('checks of a provider put off the next try of a silent deployment, or bring it forward', async t => {
  const { breaker, acquire } = breakerWith()
  breaker.stillSilent(0)
  t.equal(breaker.state(0), 'ready', 'it is not silent')
  breaker.failed(acquire(0), 500)
  breaker.silent(0, 500)
  for (let nowMs = 5_000; nowMs < 300_000; nowMs += 5_000) breaker.stillSilent(nowMs)
  t.equal(breaker.state(304_999), 'paused')
  breaker.stillSilent(304_999)
  t.equal(breaker.state(305_000), 'ready', 'a check that is wrong keeps nothing away for good')
  breaker.failed(acquire(305_000), 305_500)
  breaker.silent(305_000, 305_500)
  t.equal(breaker.state(306_000), 'paused')
  breaker.trySilent()
  t.equal(breaker.state(306_000), 'ready')
})

t.test('an answer to a later call ends a pause', async t => {
  const { breaker, call, acquire } = breakerWith()
  const early = acquire(0)
  breaker.pause(1000, 10)
  breaker.responded(early, 20, false)
  t.equal(breaker.state(20), 'paused', 'it began before the pause')
  call('well', 30)
  t.equal(breaker.state(30), 'ready')
  breaker.pause(100_000, 40, 300_000)
  t.equal(breaker.state(100_039), 'paused')
})
