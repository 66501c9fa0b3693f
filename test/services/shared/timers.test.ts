import { execFile } from 'node:child_process'
import { setImmediate as turn } from 'node:timers/promises'
import { promisify } from 'node:util'
import t from 'tap'
import { atEndOfTurn, periodically, retry, type Timers } from '../../../services/shared/timers.ts'

/** Timers that fire when the test says so, and record their delays. */
function manualTimers () {
  const delays: number[] = []
  let due: (() => void) | null = null
  const timers: Pick<Timers, 'inBackground'> = {
    inBackground (delayMs, work) {
      delays.push(delayMs)
      due = work
      return () => { due = null }
    }
  }
  /** Runs the pending timer, and resolves after what follows at once. */
  async function fire (): Promise<void> {
    const work = due
    due = null
    work?.()
    await new Promise(resolve => setImmediate(resolve))
  }
  return { timers, delays, fire, isPending: () => due !== null }
}

const fail = (error: unknown): never => { throw error }

t.test('periodic work runs after the first delay and then after each interval', async t => {
  const { timers, delays, fire } = manualTimers()
  let runs = 0
  const periodic = periodically(() => 50 + runs, async () => { runs++ }, fail, { firstMs: 0, timers })
  await fire()
  await fire()
  t.equal(runs, 2)
  t.same(delays, [0, 51, 52])
  await periodic.stop()
})

t.test('a failed run is reported, and the next one is scheduled', async t => {
  const { timers, fire, isPending } = manualTimers()
  const errors: unknown[] = []
  const error = new Error('no')
  const periodic = periodically(() => 1, async () => { throw error }, error => errors.push(error), { timers })
  await fire()
  t.same(errors, [error])
  t.ok(isPending())
  await periodic.stop()
})

t.test('an interval of null runs nothing and is read again', async t => {
  const { timers, delays, fire } = manualTimers()
  let intervalMs: number | null = null
  let runs = 0
  const periodic = periodically(() => intervalMs, async () => { runs++ }, fail, { timers })
  intervalMs = 10
  await fire()
  t.equal(runs, 0)
  t.same(delays, [5000, 10])
  await periodic.stop()
})

t.test('stop aborts the current run, waits for it and schedules no other', async t => {
  const { timers, fire, isPending } = manualTimers()
  const run = Promise.withResolvers<void>()
  let seen: AbortSignal | undefined
  const periodic = periodically(() => 1, signal => {
    seen = signal
    return run.promise
  }, fail, { timers })
  await fire()
  let hasStopped = false
  const stopping = periodic.stop().then(() => { hasStopped = true })
  await new Promise(resolve => setImmediate(resolve))
  t.equal(seen?.aborted, true)
  t.notOk(hasStopped, 'the run has not ended')
  run.resolve()
  await stopping
  t.notOk(isPending())
})

t.test('retry repeats work until it succeeds', async t => {
  const failures: [string, number][] = []
  let calls = 0
  const result = await retry(() => {
    calls++
    if (calls < 3) throw new Error(`failure ${calls}`)
    return 'done'
  }, (error, attempts) => {
    failures.push([String(error), attempts])
    return 0
  })
  t.equal(result, 'done')
  t.same(failures, [['Error: failure 1', 1], ['Error: failure 2', 2]])
})

t.test('retry ends with what the callback throws', async t => {
  const final = new Error('enough')
  await t.rejects(retry(async () => { throw new Error('first') }, () => { throw final }), final)
})

t.test('work at the end of a turn runs together, in order', async t => {
  const expected = ['this turn', 'first', 'second', 'added meanwhile', 'what follows the first']
  let order: string[] = []
  // A process that has to wait for a processor gives the event loop its turn in between.
  for (let round = 0; round < 20 && order.join() !== expected.join(); round++) {
    const seen: string[] = order = []
    atEndOfTurn(() => {
      seen.push('first')
      queueMicrotask(() => seen.push('what follows the first'))
      atEndOfTurn(() => seen.push('added meanwhile'))
    })
    atEndOfTurn(() => seen.push('second'))
    seen.push('this turn')
    while (seen.length < expected.length) await turn()
  }
  t.same(order, expected)
})

t.test('work that takes long leaves the event loop its turn', async t => {
  const order: string[] = []
  for (const name of ['first', 'second', 'third']) {
    atEndOfTurn(() => {
      order.push(name)
      const endMs = performance.now() + 10
      while (performance.now() < endMs);
      setImmediate(() => order.push(`after the ${name}`))
    })
  }
  while (order.length < 6) await turn()
  t.same(order, ['first', 'after the first', 'second', 'after the second', 'third', 'after the third'])
})

t.test('work that throws keeps no other from running', async t => {
  const script = `
    import { atEndOfTurn } from '${new URL('../../../services/shared/timers.ts', import.meta.url).href}'
    process.on('uncaughtException', ({ message }) => console.log(message))
    atEndOfTurn(() => { throw new Error('thrown') })
    atEndOfTurn(() => console.log('next'))
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  t.equal(stdout, 'thrown\nnext\n')
})
