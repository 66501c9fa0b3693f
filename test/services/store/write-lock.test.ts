import t from 'tap'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { createTurns } from '../../../services/store/write-lock.ts'

t.test('work runs one at a time, in the order of asking, whether it fails or not', async (t) => {
  const turns = createTurns({ maxWaitMs: 1_000, maxWaiting: 10 })
  const log: string[] = []
  const piece = (name: string, fails = false) => turns.take(async () => {
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

t.test('work that nobody is in the way of begins at once', async (t) => {
  const turns = createTurns({ maxWaitMs: 1_000, maxWaiting: 10 })
  let begun = false
  const done = turns.take(() => { begun = true })
  t.ok(begun)
  await done
})

t.test('who waits too long is sent away, and the others go on', async (t) => {
  const turns = createTurns({ maxWaitMs: 20, maxWaiting: 10 })
  const goOn = Promise.withResolvers<void>()
  const first = turns.take(() => goOn.promise)
  let ran = false
  await t.rejects(turns.take(() => { ran = true }), StoreUnavailable)
  goOn.resolve()
  await first
  t.equal(await turns.take(() => 'next'), 'next')
  t.notOk(ran)
})

t.test('too many do not get into the queue', async (t) => {
  const turns = createTurns({ maxWaitMs: 1_000, maxWaiting: 1 })
  const goOn = Promise.withResolvers<void>()
  const first = turns.take(() => goOn.promise)
  const second = turns.take(() => 'second')
  await t.rejects(turns.take(() => 'third'), StoreUnavailable)
  goOn.resolve()
  await first
  t.equal(await second, 'second')
})
