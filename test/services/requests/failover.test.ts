import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { requestsDefaults } from '../../../services/config/defaults.ts'
import { insufficientQuota } from '../../../services/billing/ledger/errors.ts'
import type { Attempt, Call } from '../../../services/requests/attempt.ts'
import type { Candidate } from '../../../services/requests/candidates.ts'
import { createRequestRecord } from '../../../services/requests/request-record.ts'
import { RequestDeadline } from '../../../services/requests/deadline.ts'
import { failover, type RetryLimits, type Search } from '../../../services/requests/failover.ts'
import type { GatewayError, UpstreamError } from '../../../services/shared/errors.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import { rejection } from '../../helpers/thrown.ts'
import { candidate, failure, limits } from './helper.ts'
import { runningMs } from '../../helpers/running-time.ts'

const quick: RetryLimits = { ...limits, backoffMs: 1, retries: 1 }
const shortage = insufficientQuota({ of: 'account', balanceNano: 0, heldNano: 0, neededNano: 1 })

interface Requested extends Search<Candidate>, Call<Candidate, string> {
  cover (candidate: Candidate): Promise<void>
}

/** Serves a request as the use cases do. */
async function serve ({ cover, call, tokensOf, ...search }: Requested): Promise<Attempt<Candidate, string>> {
  for await (const turn of failover(search)) {
    if (!await turn.reserved(cover(turn.candidate))) continue
    const attempt = await turn.call({ call, tokensOf })
    if (attempt !== null) return attempt
  }
  throw new TypeError('The turns have ended without a failure.')
}

type Step = UpstreamError | string | ((signal: AbortSignal) => Promise<string>)

/**
 * Lets each candidate answer its steps in turn, the last one again and again: an error is thrown, a text
 * answered. `events` has what was called, by the candidate's place.
 */
function createTest (steps: readonly (readonly Step[])[], more: Partial<Requested> = {}) {
  const candidates = steps.map(() => candidate())
  const events: string[] = []
  const failures: UpstreamError[] = []
  const left = steps.map(list => [...list])
  const placeOf = (one: Candidate) => candidates.indexOf(one)
  const [first = candidate()] = candidates
  const record = createRequestRecord()
  const search: Requested = {
    plan: { model: first.model, requested: candidates, fallbacks: () => [] },
    limits: quick,
    key: 'key',
    clientRetries: null,
    signal: new AbortController().signal,
    record,
    deadline: { dueMs: performance.now() + 10_000, limitMs: 10_000 },
    cover: async one => { events.push(`cover ${placeOf(one)}`) },
    async call (one, signal) {
      events.push(`ask ${placeOf(one)}`)
      const list = left[placeOf(one)] ?? []
      const step = (list.length > 1 ? list.shift() : list[0]) ?? 'nothing'
      if (step instanceof Error) throw step
      return typeof step === 'string' ? step : await step(signal)
    },
    tokensOf: () => 1,
    onFailure: (_one, error) => { failures.push(error) },
    random: () => 0,
    ...more
  }
  const asked = () => events.filter(event => event.startsWith('ask')).map(event => Number(event.slice(4)))
  return { search, candidates, events, failures, record, asked }
}

/** The plan of the first candidate with the others as its fallbacks, one a model. */
const withFallbacks = ([first, ...others]: readonly Candidate[]) => ({
  model: (first ?? candidate()).model,
  requested: first === undefined ? [] : [first],
  fallbacks: () => others.map(one => [one])
})

t.test('the money is held before the call, and the first answer is taken', async t => {
  const { search, events, record, candidates } = createTest([['hello'], ['other']])
  t.match(await serve(search), { candidate: candidates[0], response: 'hello' })
  t.same(events, ['cover 0', 'ask 0'])
  t.equal(record.attempts, 1)
})

t.test('after a failure the other deployments are called, then the fallbacks', async t => {
  const { search, asked, failures, record, candidates } = createTest(
    [[failure('auth', { status: 401 })], [failure('quota', { status: 402 })], ['hello']])
  t.match(await serve({ ...search, plan: withFallbacks(candidates) }), { response: 'hello' })
  t.same(asked(), [0, 1, 2], 'what refuses alone is not called again')
  t.same(failures.map(({ kind }) => kind), ['auth', 'quota'])
  t.equal(record.attempts, 3)
})

t.test('each is called again after a backoff, and the failure that helps most is thrown', async t => {
  const { search, asked } = createTest([[failure('network', {}, 'no')], [failure('rate', { status: 429 })]])
  t.match(await rejection(serve(search)), { kind: 'rate' })
  t.same(asked().toSorted(), [0, 0, 1, 1])
})

t.test('a request whose first candidate cannot be paid is refused before any call', async t => {
  const { search, events } = createTest([['hello'], ['other']], { cover: async () => { throw shortage } })
  t.match(await rejection(serve(search)), { status: 402 })
  t.same(events, [])
})

t.test('a later candidate that cannot be paid is passed over for good', async t => {
  const { search, candidates, asked } = createTest([[failure('overloaded'), 'hello'], ['dear']])
  const covered: number[] = []
  const cover = async (one: Candidate) => {
    covered.push(candidates.indexOf(one))
    if (one === candidates[1]) throw shortage
  }
  t.match(await serve({ ...search, cover }), { response: 'hello' })
  t.same(asked(), [0, 0])
  t.same(covered, [0, 1, 0])

  const failing = createTest([[failure('overloaded')], ['dear']])
  const coverFirst = async (one: Candidate) => { if (one !== failing.candidates[0]) throw shortage }
  t.match(await rejection(serve({ ...failing.search, cover: coverFirst })), { kind: 'overloaded' }, 'and hides no failure')
})

t.test('a database that is away ends the request, also for a later candidate', async t => {
  const away = new StoreUnavailable(new Error('away'))
  const { search, candidates, asked } = createTest([[failure('overloaded')], ['other']])
  const cover = async (one: Candidate) => { if (one !== candidates[0]) throw away }
  await t.rejects(serve({ ...search, cover }), away)
  t.same(asked(), [0])
})

t.test('a request that no deployment would take is not tried elsewhere', async t => {
  const { search, asked } = createTest([[failure('bad_request', { status: 400 })], ['other']])
  t.match(await rejection(serve(search)), { kind: 'bad_request' })
  t.same(asked(), [0])
})

t.test('what a fallback cannot take goes to the next fallback', async t => {
  const { search, candidates, asked } = createTest(
    [[failure('not_found', { status: 404 })], [failure('too_large', { status: 400 })], ['hello']])
  t.match(await serve({ ...search, plan: withFallbacks(candidates) }), { response: 'hello' })
  t.same(asked(), [0, 1, 2])
})

t.test('a call that may have been charged is repeated only if the operator allows it', async t => {
  const unsure = () => createTest([[failure('network', {}, 'maybe')], ['hello']])
  const one = unsure()
  t.match(await rejection(serve({ ...one.search, limits: { ...quick, retryUnsure: false } })), { kind: 'network' })
  t.same(one.asked(), [0])
  const other = unsure()
  t.match(await serve({ ...other.search, limits: { ...quick, retryUnsure: true } }), { response: 'hello' })
})

t.test('what is no failure of a provider is thrown at once', async t => {
  const { search, asked, failures } = createTest([[async () => { throw new TypeError('a bug') }], ['other']])
  await t.rejects(serve(search), TypeError)
  t.same(asked(), [0])
  t.same(failures, [])
})

t.test('a wait that would pass the deadline is not begun', async t => {
  const { search, asked } = createTest([[failure('rate', { status: 429, retryAfterMs: 1900 })]])
  const [startedMs, beganMs] = [performance.now(), runningMs()]
  t.match(await rejection(serve({ ...search, deadline: { dueMs: startedMs + 1000, limitMs: 1000 } })), { kind: 'rate' })
  t.same(asked(), [0])
  t.ok(runningMs() - beganMs < 1000)
})

t.test('a deadline that is over before the first call is answered with 504', async t => {
  const { search, asked } = createTest([['too late']])
  const deadline = { dueMs: performance.now(), limitMs: 1 }
  t.match(await rejection(serve({ ...search, deadline })), { status: 504, code: 'deadline_exceeded', message: /1 ms/ })
  t.same(asked(), [])
})

t.test('a client that disconnects during a wait ends the request', async t => {
  const leaving = new AbortController()
  const { search, asked } = createTest([[failure('rate', { status: 429, retryAfterMs: 1900 })]], {
    signal: leaving.signal, onFailure: () => { setImmediate(() => leaving.abort()) }
  })
  t.match(await rejection(serve(search)), { kind: 'aborted', sent: 'no' })
  t.same(asked(), [0])
})

t.test('when all circuit breakers are open, the last way is called, and its answer closes it', async t => {
  const { search, record, candidates } = createTest([['hello']])
  const [only = candidate()] = candidates
  only.health.breaker.trip(performance.now())
  t.match(await serve(search), { response: 'hello' })
  t.equal(record.attempts, 1)
  t.equal(only.health.breaker.state(performance.now()), 'ready')
})

t.test('when too many requests try the last way, the others wait for one of them, or get a 503', async t => {
  const { search, candidates, events } = createTest([['hello']])
  const [only = candidate()] = candidates
  const { breaker } = only.health
  breaker.trip(performance.now())
  const nowMs = performance.now()
  const permits = ['key', 'key', 'other'].map(key => breaker.acquire(nowMs, key, true))
  const impatient = { limits: { ...quick, retries: 0 } }
  t.match(await rejection(serve({ ...search, ...impatient })), { status: 503, code: 'model_unavailable' })
  t.same(events.filter(event => event.startsWith('ask')), [])
  const answered = serve({ ...search, limits: { ...quick, backoffMs: 20 } })
  const [first = null] = permits
  if (first !== null) breaker.release(first)
  t.match(await answered, { response: 'hello' })
})

t.test('a client that retries by itself gets fewer calls', async t => {
  for (const [clientRetries, calls] of [[null, 8], [0, 4], [1, 1], [2, 1]] as const) {
    const list = Array.from({ length: 20 }, () => [failure('overloaded')])
    const { search, asked } = createTest(list, { clientRetries })
    t.match(await rejection(serve(search)), { kind: 'overloaded' })
    t.equal(asked().length, calls)
  }
})

t.test('a failure says whether its retry-after was waited out', async t => {
  const asks = [failure('rate', { status: 429, retryAfterMs: 300 })]
  const waits = createTest([asks])
  t.match(await rejection(serve(waits.search)), { kind: 'rate', details: { retryAfterMs: 300, hasWaited: true } })
  t.same(waits.asked(), [0, 0])
  const long = createTest([[failure('rate', { status: 429, retryAfterMs: 9000 })]])
  t.match(await rejection(serve(long.search)), { details: { hasWaited: undefined } })
  const repeated = { ...long.search, clientRetries: 1 }
  t.match(await rejection(serve(repeated)), { details: { hasWaited: true } })
})

t.test('a circuit breaker that opens while the money is held counts as no attempt', async t => {
  const { search, candidates, record, asked } = createTest([['never'], ['hello']], {
    cover: async one => { if (one === candidates[0]) one.health.breaker.trip(performance.now()) }
  })
  t.match(await serve(search), { response: 'hello' })
  t.same(asked(), [1])
  t.equal(record.attempts, 1)
})

t.test('beside a slow deployment another one of the same price is called, under the same hold', async t => {
  let isAborted = false
  const slow = async (signal: AbortSignal) => {
    signal.addEventListener('abort', () => { isAborted = true })
    return await sleep(10_000, 'late', { signal }).catch(() => { throw failure('aborted', {}, 'yes') })
  }
  const { search, events, record, candidates } = createTest([[slow], ['fast']])
  const answered = await serve({ ...search, limits: { ...quick, hedgeAfterMs: 5 } })
  t.match([answered.candidate, answered.response], [candidates[1], 'fast'])
  t.same(events, ['cover 0', 'ask 0', 'ask 1'])
  t.equal(record.attempts, 2)
  t.ok(isAborted)
})

t.test('a request that takes too long is given up with 504', async t => {
  const given = Promise.withResolvers<GatewayError>()
  const startedMs = performance.now()
  const times = { deadlineMs: 20, streamMs: 10_000 }
  const { dueMs } = new RequestDeadline({ giveUp: given.resolve, deadlineMs: null }, times)
  t.ok(dueMs >= startedMs + 20 && dueMs < startedMs + 1000)
  t.match(await given.promise, {
    status: 504, code: 'deadline_exceeded', message: /not answered .* 20 ms/, headers: { 'x-should-retry': 'false' }
  })
})

t.test('a stream that has begun has the time of streams, or that of its client', async t => {
  const cases = [[null, 40], [30, 30], [1000, 40]] as const
  await Promise.all(cases.map(async ([deadlineMs, limitMs]) => {
    const given = Promise.withResolvers<GatewayError>()
    const limits = { deadlineMs: 60_000, streamMs: 40 }
    const deadline = new RequestDeadline({ giveUp: given.resolve, deadlineMs }, limits)
    const arrivedMs = deadline.dueMs - deadline.limitMs
    deadline.streamBegan()
    t.equal(Math.round(deadline.dueMs - arrivedMs), limitMs)
    t.match(await given.promise, { message: `The stream was still running at its deadline of ${limitMs} ms, and was ended.` })
  }))
})

t.test('a deadline that was stopped gives nothing up', async t => {
  const deadline = new RequestDeadline({ giveUp: () => t.fail('it was given up'), deadlineMs: 5 }, requestsDefaults)
  deadline.stop()
  await new Promise(resolve => setTimeout(resolve, 20))
})

t.test('a conversation stays with its candidate, and is not identified where there is only one', async t => {
  let identified = 0
  const conversation = (): string => `key ${identified++ < 0}`
  const alone = createTest([['hello']], { conversation })
  await serve(alone.search)
  t.equal(identified, 0)
  const several = createTest([['a'], ['b'], ['c'], ['d']], { conversation, random: Math.random })
  const found = new Set<string>()
  for (let turn = 0; turn < 20; turn++) found.add((await serve(several.search)).response)
  t.equal(found.size, 1)
  t.ok(identified > 0)
})
