import t from 'tap'
import type { Candidate } from '../../../services/requests/candidates.ts'
import { createTurns } from '../../../services/requests/retry-schedule.ts'
import type { UpstreamError } from '../../../services/shared/errors.ts'
import { candidate, failure, limits } from './helper.ts'

/** Lets each turn end in the failure that `fails` names; returns who had a turn, and after which wait. */
function play (
  candidates: readonly Candidate[],
  fails: (candidate: Candidate) => UpstreamError,
  more: Partial<typeof limits> = {}
) {
  const turns = createTurns(candidates, { ...limits, ...more }, false, () => 1)
  const played: [number, number][] = []
  let nowMs = 0
  for (let turn = turns.next(nowMs); turn !== null; turn = turns.next(nowMs)) {
    nowMs += turn.waitMs
    played.push([candidates.indexOf(turn.candidate), turn.waitMs])
    turns.failed(turn.candidate, fails(turn.candidate), nowMs)
  }
  return played
}

t.test('one deployment is tried again after waits that double', async t => {
  t.same(play([candidate()], () => failure('overloaded')), [[0, 0], [0, 100], [0, 200]])
  t.same(play([candidate()], () => failure('network', {}, 'no'), { retries: 0 }), [[0, 0]])
})

t.test('the others are tried at once, and only then anybody again', async t => {
  const three = [candidate(), candidate(), candidate()]
  const played = play(three, () => failure('bad_reply'))
  t.same(played.slice(0, 3), [[0, 0], [1, 0], [2, 0]])
  t.same(played.slice(3).map(([index]) => index), [0, 1, 2, 0, 1, 2])
  t.equal(played.reduce((sum, [, waitMs]) => sum + waitMs, 0), 300, 'they wait at the same time')
})

t.test('who asks to be left alone is, unless for too long', async t => {
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

t.test('what its provider says is hopeless is not tried again', async t => {
  const two = [candidate(), candidate()]
  const played = play(two, one => failure('bad_reply', { status: 500, shouldRetry: one === two[0] ? false : undefined }))
  t.same(played.map(([index]) => index), [0, 1, 1, 1])
})

t.test('an open breaker is passed over, a resting deployment comes last', async t => {
  const three = [candidate(), candidate(), candidate()]
  three[0]?.known.breaker.trip(0)
  three[1]?.known.breaker.pause(60_000, 0)
  const played = play(three, () => failure('overloaded'))
  t.same(played.map(([index]) => index), [2, 2, 2, 1, 1, 1])
  three.forEach(({ known }) => known.breaker.trip(0))
  t.same(play(three, () => failure('overloaded')), [])
})

t.test('who was passed over for its breaker is known, unless it had its chances', async t => {
  const two = [candidate(), candidate()] as const
  const turns = createTurns(two, { ...limits, retries: 0 }, false, () => 1)
  for (const { known } of two) known.breaker.trip(0)
  t.equal(turns.next(0), null)
  t.strictSame(turns.barred(), [...two], 'also when the breakers let go later')
  turns.failed(two[0], failure('overloaded'), 0)
  t.strictSame(turns.barred(), [two[1]])
  t.equal(turns.next(60_000)?.candidate, two[1])
  t.strictSame(turns.barred(), [], 'its breaker has let go')
})

t.test('a spare is one that was not tried, is well, and costs the same', async t => {
  const price = {
    inputPico: 1, outputPico: 1, cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null
  }
  const [first, open, spare] = [candidate({}, price), candidate({}, price), candidate({}, price)]
  const dear = candidate()
  open.known.breaker.trip(0)
  const turns = createTurns([first, dear, open, spare], limits, false, () => 1)
  t.equal(turns.spare(first, 0), spare)
  turns.failed(spare, failure('network'), 0)
  t.equal(turns.spare(first, 0), null)
})
