import t from 'tap'
import type { Candidate } from '../../../services/requests/candidates.ts'
import { RetrySchedule } from '../../../services/requests/retry-schedule.ts'
import type { UpstreamError } from '../../../services/shared/errors.ts'
import { candidate, failure, limits } from './helper.ts'

/** A schedule of the deployments of a model, and of those of its fallbacks. */
function scheduleOf (
  asked: readonly Candidate[], more: Partial<typeof limits> = {}, fallbacks: readonly Candidate[][] = []
) {
  const [first = candidate()] = asked
  const plan = { model: first.model, requested: asked, fallbacks: () => fallbacks }
  return new RetrySchedule({ plan, limits: { ...limits, ...more }, order: list => list, random: () => 1, key: 'key' })
}

/** Lets each turn end in the failure that `fails` names; returns who had a turn, and after which wait. */
function play (
  candidates: readonly Candidate[],
  fails: (candidate: Candidate) => UpstreamError,
  more: Partial<typeof limits> = {}
) {
  const schedule = scheduleOf(candidates, more)
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
  t.same(play([candidate()], asks(700)), [[0, 0], [0, 700]], 'once')
  t.same(play([candidate()], asks(20)), [[0, 0], [0, 100], [0, 200]], 'short ones like other waits')
  t.same(play([candidate()], asks(2001)), [[0, 0]])
})

t.test('a refusal sends to the next, and only where there is one a second time to the same', async t => {
  for (const kind of ['auth', 'quota', 'not_found'] as const) {
    t.same(play([candidate()], () => failure(kind, { status: 401 })), [[0, 0]], kind)
    const two = [candidate(), candidate()]
    t.same(play(two, () => failure(kind, { status: 401 })).map(([index]) => index), [0, 1, 0, 1], kind)
  }
  t.same(play([candidate()], () => failure('timeout', {}, 'maybe'), { retries: 5 }).length, 2, 'as with one that is slow')
  const ranOut = () => failure('timeout', { ranOut: true }, 'maybe')
  t.same(play([candidate()], ranOut), [[0, 0]], 'what the gateway has waited for is not repeated')
  t.same(play([candidate(), candidate()], ranOut).map(([index]) => index), [0, 1], 'but tried elsewhere')
})

t.test('a failure that the provider calls final is not retried', async t => {
  const two = [candidate(), candidate()]
  const played = play(two, one => failure('bad_reply', { status: 500, shouldRetry: one === two[0] ? false : undefined }))
  t.same(played.map(([index]) => index), [0, 1, 1, 1])
})

t.test('a paused deployment comes after the others, and one with an open breaker is the last way', async t => {
  const three = [candidate(), candidate(), candidate()]
  three[0]?.health.breaker.trip(0)
  three[1]?.health.breaker.pause(60_000, 0)
  const played = play(three, () => failure('overloaded'), { retries: 1 })
  t.same(played.map(([index]) => index), [2, 1, 1, 2, 0, 0])
  const schedule = scheduleOf(three, { retries: 1 })
  t.match(schedule.next(0), { candidate: three[2], isLastWay: false })
  three.forEach(({ health }) => health.breaker.trip(0))
  t.match(schedule.next(0), { candidate: three[0], waitMs: 0, isLastWay: true })
  const lastWay = (one: Candidate) => ({ candidate: one, waitMs: 0, isLastWay: true })
  schedule.blocked(lastWay(three[0] ?? candidate()), 0)
  t.equal(schedule.next(0)?.candidate, three[1])
  for (const one of [...three, ...three]) schedule.blocked(lastWay(one), 0)
  t.equal(schedule.next(0), null, 'it was waited for as often as calls are repeated')
})

t.test('a deployment that lets no call of this request through comes last', async t => {
  const two = [candidate(), candidate()]
  const schedule = scheduleOf(two, {})
  const first = schedule.next(0)
  t.match(first, { candidate: two[0], isLastWay: false })
  if (first !== null) schedule.blocked(first, 0)
  t.match(schedule.next(0), { candidate: two[1], isLastWay: false })
  if (two[1] !== undefined) schedule.drop(two[1])
  t.match(schedule.next(0), { candidate: two[0], waitMs: 0, isLastWay: true })
})

t.test('after a failure another provider comes first, in the order of the fallbacks, and retries come last', async t => {
  const [asked, same, other, third] = [
    candidate({ provider: 'a' }), candidate({ provider: 'a' }), candidate({ provider: 'b' }), candidate({ provider: 'a' })
  ] as const
  const schedule = scheduleOf([asked], { retries: 1 }, [[same], [other], [third]])
  const order = [asked, same, other, third]
  const played: number[] = []
  let nowMs = 0
  for (let turn = schedule.next(nowMs); turn !== null; turn = schedule.next(nowMs)) {
    nowMs += turn.waitMs
    played.push(order.indexOf(turn.candidate))
    schedule.failed(turn.candidate, failure('overloaded'), nowMs)
  }
  t.same(played, [0, 2, 1, 3, 0, 1, 2, 3])
  t.notOk(schedule.isFallback(asked))
  t.ok(schedule.isFallback(other))
})

t.test('a missing model says nothing about its provider, and what a model cannot take is for another model', async t => {
  const [asked, same, other] = [candidate({ provider: 'a' }), candidate({ provider: 'a' }), candidate({ provider: 'b' })] as const
  const schedule = scheduleOf([asked], {}, [[same], [other]])
  schedule.failed(asked, failure('not_found', { status: 404 }), 0)
  t.equal(schedule.next(0)?.candidate, same)
  schedule.failed(same, failure('too_large', { status: 400 }), 0)
  t.equal(schedule.next(0)?.candidate, other)
  schedule.failed(other, failure('too_large', { status: 400 }), 0)
  t.equal(schedule.next(0), null)
})

t.test('a spare was not tried yet, is healthy, and has the same price', async t => {
  const price = {
    inputPico: 1, outputPico: 1, cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null
  }
  const [first, open, spare] = [candidate({}, price), candidate({}, price), candidate({}, price)]
  const dear = candidate()
  open.health.breaker.trip(0)
  const schedule = scheduleOf([first, dear, open, spare])
  t.equal(schedule.spare(first, 0), spare)
  schedule.failed(spare, failure('network'), 0)
  t.equal(schedule.spare(first, 0), null)
})
