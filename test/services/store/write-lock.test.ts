import t from 'tap'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { createWriteLock } from '../../../services/store/sqlite.ts'

t.test('work runs one at a time, first come, first served, even if some fails', async (t) => {
  const lock = createWriteLock({ maxWaitMs: 1_000, maxWaiting: 10 })
  const log: string[] = []
  const piece = (name: string, fails = false) => lock.run(async () => {
    log.push(`${name} begins`)
    await new Promise(setImmediate)
    log.push(`${name} ends`)
    if (fails) throw new Error(name)
    return name
  })
  const results = await Promise.allSettled([piece('a'), piece('b', true), piece('c')])
  t.same(log, ['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends'])
  t.same(results.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled'])
})

t.test('work runs at once while the lock is free', async (t) => {
  const lock = createWriteLock({ maxWaitMs: 1_000, maxWaiting: 10 })
  let begun = false
  const done = lock.run(() => { begun = true })
  t.ok(begun)
  await done
})

t.test('waiting times out, and others still get the lock', async (t) => {
  const lock = createWriteLock({ maxWaitMs: 20, maxWaiting: 10 })
  const goOn = Promise.withResolvers<void>()
  const first = lock.run(() => goOn.promise)
  let ran = false
  await t.rejects(lock.run(() => { ran = true }), StoreUnavailable)
  goOn.resolve()
  await first
  t.equal(await lock.run(() => 'next'), 'next')
  t.notOk(ran)
})

t.test('the number of waiters is bounded', async (t) => {
  const lock = createWriteLock({ maxWaitMs: 1_000, maxWaiting: 1 })
  const goOn = Promise.withResolvers<void>()
  const first = lock.run(() => goOn.promise)
  const second = lock.run(() => 'second')
  await t.rejects(lock.run(() => 'third'), StoreUnavailable)
  goOn.resolve()
  await first
  t.equal(await second, 'second')
})

t.test('a long row of work leaves time for other events', async (t) => {
  const lock = createWriteLock({ maxWaitMs: 1_000, maxWaiting: 10 })
  const work = () => {
    const untilMs = performance.now() + 5
    while (performance.now() < untilMs) continue
  }
  let [turns, isOver] = [0, false]
  const turn = () => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  for (let index = 0; index < 20; index++) await lock.run(work)
  isOver = true
  t.ok(turns >= 5, `${turns} turns within 100 ms`)
})
