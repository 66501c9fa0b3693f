import t from 'tap'
import type { Candidate } from '../../../services/requests/candidates.ts'
import { createRetrySchedule } from '../../../services/requests/retry-schedule.ts'
import type { UpstreamError } from '../../../services/shared/errors.ts'
import { candidate, failure, limits } from './helper.ts'

/** Lets each turn end in the failure that `fails` names; reschedule who had a turn, and after which wait. */
function play (
  candidates: readonly Candidate[],
  fails: (candidate: Candidate) => UpstreamError,
  more: Partial<typeof limits> = {}
) {
  const schedule = createRetrySchedule(candidates, { ...limits, ...more }, false, () => 1)
  const played: [number, number][] = []
  let nowMs = 0
  for (let turn = schedule.next(nowMs); turn !== null; turn = schedule.next(nowMs)) {
    nowMs += turn.waitMs
    played.push([candidates.indexOf(turn.candidate), turn.waitMs])
    schedule.failed(turn.candidate, fails(turn.candidate), nowMs)
  }
  return played
}

t.test('one deployment is tried again after waits that double', async t => {
  t.same(play([candidate()], () => failure('overloaded')), [[0, 0], [0, 100], [0, 200]])
  t.same(play([candidate()], () => failure('network', {}, 'no'), { retries: 0 }), [[0, 0]])
})

t.test('the others are tried at once, and only then the first again', async t => {
  const three = [candidate(), candidate(), candidate()]
  const played = play(three, () => failure('bad_reply'))
  t.same(played.slice(0, 3), [[0, 0], [1, 0], [2, 0]])
  t.same(played.slice(3).map(([index]) => index), [0, 1, 2, 0, 1, 2])
  t.equal(played.reduce((sum, [, waitMs]) => sum + waitMs, 0), 300, 'they wait at the same time')
})

t.test('a retry-after is waited for, unless it is too long', async t => {
  const asks = (retryAfterMs: number) => () => failure('rate', { status: 429, retryAfterMs })
  t.same(play([candidate()], asks(700)), [[0, 0], [0, 700], [0, 700]])
  t.same(play([candidate()], asks(20)), [[0, 0], [0, 100], [0, 200]], 'but never less than the own wait')
  t.same(play([candidate()], asks(10_001)), [[0, 0]])
})

t.test('a refusal sends to the next, and only where there is one a second time to the same', async t => {
  for (const kind of ['auth', 'quota', 'not_found'] as const) {
    t.same(play([candidate()], () => failure(kind, { status: 401 })), [[0, 0]], kind)
    const two = [candidate(), candidate()]
    t.same(play(two, () => failure(kind, { status: 401 })).map(([index]) => index), [0, 1, 0, 1], kind)
  }
  t.same(play([candidate()], () => failure('timeout', {}, 'maybe'), { retries: 5 }).length, 2, 'as with one that is slow')
})

t.test('a failure that the provider calls final is not retried', async t => {
  const two = [candidate(), candidate()]
  const played = play(two, one => failure('bad_reply', { status: 500, shouldRetry: one === two[0] ? false : undefined }))
  t.same(played.map(([index]) => index), [0, 1, 1, 1])
})

t.test('an open breaker is skipped, and a paused deployment comes last', async t => {
  const three = [candidate(), candidate(), candidate()]
  three[0]?.health.breaker.trip(0)
  three[1]?.health.breaker.pause(60_000, 0)
  const played = play(three, () => failure('overloaded'))
  t.same(played.map(([index]) => index), [2, 2, 2, 1, 1, 1])
  three.forEach(({ health }) => health.breaker.trip(0))
  t.same(play(three, () => failure('overloaded')), [])
})

t.test('a candidate that was skipped for its open breaker is reported, unless it was tried', async t => {
  const two = [candidate(), candidate()] as const
  const schedule = createRetrySchedule(two, { ...limits, retries: 0 }, false, () => 1)
  for (const { health } of two) health.breaker.trip(0)
  t.equal(schedule.next(0), null)
  t.strictSame(schedule.skipped(), [...two], 'also when the breakers let go later')
  schedule.failed(two[0], failure('overloaded'), 0)
  t.strictSame(schedule.skipped(), [two[1]])
  t.equal(schedule.next(60_000)?.candidate, two[1])
  t.strictSame(schedule.skipped(), [], 'its breaker has let go')
})

t.test('a spare was not tried yet, is healthy, and has the same price', async t => {
  const price = {
    inputPico: 1, outputPico: 1, cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null
  }
  const [first, open, spare] = [candidate({}, price), candidate({}, price), candidate({}, price)]
  const dear = candidate()
  open.health.breaker.trip(0)
  const schedule = createRetrySchedule([first, dear, open, spare], limits, false, () => 1)
  t.equal(schedule.spare(first, 0), spare)
  schedule.failed(spare, failure('network'), 0)
  t.equal(schedule.spare(first, 0), null)
})
