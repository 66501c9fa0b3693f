import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { hedge } from '../../../services/requests/hedge.ts'

const never = new AbortController().signal

t.test('a second call is started only when the first is slow, and the loser is aborted', async t => {
  let started = 0
  const quick = await hedge(1000, never, async () => 'first', () => { started++; return null })
  t.equal(quick, 'first')
  t.equal(started, 0)

  let aborted = false
  const slow = async (signal: AbortSignal) => {
    await sleep(10_000, undefined, { signal }).catch(error => { aborted = true; throw error })
    return 'first'
  }
  t.equal(await hedge(5, never, slow, () => async () => 'second'), 'second')
  await sleep(1)
  t.ok(aborted)
})

t.test('of two that answer at the same time, one is aborted after its answer', async t => {
  const both = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  const call = async (signal: AbortSignal) => {
    if (signals.push(signal) === 2) both.resolve()
    await both.promise
    return signals.indexOf(signal)
  }
  t.equal(await hedge(1, never, call, () => call), 0)
  t.same(signals.map(({ aborted }) => aborted), [false, true])
})

t.test('the one that goes on may still answer when the other fails', async t => {
  const failing = async () => { throw new Error('failed') }
  const late = async () => await sleep(30, 'late')
  t.equal(await hedge(5, never, late, () => failing), 'late')
  const failsLate = async () => { await sleep(20); throw new Error('late failure') }
  t.equal(await hedge(5, never, failsLate, () => late), 'late')
  await t.rejects(hedge(5, never, failsLate, () => failing), /late failure/)
  await t.rejects(hedge(5, never, failing, () => late), /failed/, 'before its time nothing else is started')
})

t.test('a client that leaves ends both', async t => {
  const leaving = new AbortController()
  let ended = 0
  const waits = async (signal: AbortSignal) => await sleep(10_000, '', { signal }).finally(() => { ended++ })
  const answer = hedge(1, leaving.signal, waits, () => waits)
  await sleep(20)
  leaving.abort()
  await t.rejects(answer)
  t.equal(ended, 2)
})
