import t from 'tap'
import { attempt, CallCounts, recordStreamEnd, type Caller } from '../../../services/requests/attempt.ts'
import type { Candidate } from '../../../services/requests/candidates.ts'
import { createRequestRecord } from '../../../services/requests/request-record.ts'
import { candidate, failure } from './helper.ts'

const never = new AbortController().signal
const prior = { firstTokenMs: 1000, tokensPerSecond: 50 }
const expectedOf = ({ health }: Candidate) => health.statistics.expected(prior)
const stateOf = ({ health }: Candidate) => health.breaker.state(performance.now())

/** Calls a candidate, which answers with so many tokens (null: with a stream) or throws. */
async function call (
  one: Candidate, outcome: number | null | Error, { key = 'key', isLastWay = false, ...more }: Partial<Caller> & { key?: string, isLastWay?: boolean } = {}
) {
  const permit = one.health.breaker.acquire(performance.now(), key, isLastWay)
  if (permit === null) return null
  return await attempt(one, permit, never, {
    call: async () => {
      if (outcome instanceof Error) throw outcome
      return 'hello'
    },
    tokensOf: () => outcome instanceof Error ? 0 : outcome
  }, { failed: new Set(), record: createRequestRecord(), ...more })
}

/** Failures in a row until the breaker opens; null if it has not after 50. */
async function failuresUntilOpen (one: Candidate, error: Error): Promise<number | null> {
  for (let count = 1; count <= 50; count++) {
    await t.rejects(call(one, error))
    if (stateOf(one) === 'open') return count
  }
  return null
}

t.test('each call is in the record, with its outcome', async t => {
  const record = createRequestRecord()
  const one = candidate()
  await call(one, 10, { record })
  await t.rejects(call(one, failure('overloaded', { status: 529 }), { record }))
  await t.rejects(call(one, new Error('a bug'), { record }))
  const { provider: { id: provider }, deployment: { model } } = one
  t.match(record.calls, [
    { provider, model, status: 200, failure: null },
    { provider, model, status: 529, failure: 'overloaded' },
    { provider, model, status: null, failure: null }
  ])
  for (const { startedMs, endedMs } of record.calls) t.ok(endedMs !== null && endedMs >= startedMs)
})

t.test('an answer is returned with its candidate and counts for the statistics', async t => {
  const one = candidate()
  const answered = await call(one, 10)
  t.match(answered, { candidate: one, response: 'hello' })
  t.ok(expectedOf(one).calls > 0.9)
  t.equal(expectedOf(one).errorRate, 0)
})

t.test('an open circuit breaker lets no call through', async t => {
  const one = candidate()
  one.health.breaker.trip(performance.now())
  t.equal(await call(one, new Error('it was called')), null)
})

for (const [name, error, opens] of [
  ['failures of the provider open it', failure('overloaded'), true],
  ['refused requests do not: the provider works', failure('bad_request', { status: 400 }), false],
  ['a rate limit does not', failure('rate', { status: 429 }), false],
  ['a model that is not served does not', failure('not_found', { status: 404, code: 'model_not_found' }), false],
  ['a path that does not exist does', failure('not_found', { status: 404 }), true],
  ['aborted calls do not', failure('aborted', {}, 'yes'), false],
  ['what the provider calls final does not', failure('overloaded', { status: 503, shouldRetry: false }), false],
  ['faults of the gateway do not', new TypeError('a bug'), false]
] as const) {
  t.test(`of the circuit breaker: ${name}`, async t => {
    t.equal(await failuresUntilOpen(candidate(), error) !== null, opens)
  })
}

t.test('a half-open circuit breaker gets its permit back after a call that says nothing', async t => {
  const one = candidate()
  one.health.breaker.trip(performance.now())
  one.health.breaker.halfOpen()
  await t.rejects(call(one, failure('aborted', {}, 'yes')))
  t.match(await call(one, 1), { response: 'hello' })
  t.match(await Promise.all([call(one, 1), call(one, 1)]), [{ response: 'hello' }, { response: 'hello' }],
    'the answer has closed it')
})

t.test('failures count for the statistics too', async t => {
  const one = candidate()
  await t.rejects(call(one, failure('overloaded')))
  t.ok(expectedOf(one).errorRate > 0)
})

t.test('a rate limit pauses the deployment for as long as the provider asks, else for a second', async t => {
  for (const [more, pauseMs] of [[{ retryAfterMs: 20_000 }, 20_000], [{}, 1000]] as const) {
    const one = candidate()
    const startedMs = performance.now()
    await t.rejects(call(one, failure('rate', { status: 429, ...more })))
    t.equal(one.health.breaker.state(startedMs + pauseMs - 1), 'paused')
    t.equal(one.health.breaker.state(performance.now() + pauseMs), 'ready')
    t.ok(expectedOf(one).errorRate > 0, 'it counts as a failure')
  }
})

t.test('a model that the provider does not serve rests for minutes', async t => {
  const one = candidate()
  await t.rejects(call(one, failure('not_found', { status: 404, code: 'model_not_found' })))
  t.equal(one.health.breaker.state(performance.now() + 290_000), 'paused')
  t.equal(expectedOf(one).errorRate, 0)
})

t.test('a request counts once, however often it fails', async t => {
  const one = candidate()
  const failed = new Set([one.health])
  for (let count = 0; count < 20; count++) await t.rejects(call(one, failure('overloaded'), { failed }))
  t.equal(stateOf(one), 'ready')
  t.equal(expectedOf(one).errorRate, 0)
})

t.test('the last way to a model is called although its circuit breaker is open', async t => {
  const one = candidate()
  one.health.breaker.trip(performance.now())
  t.match(await call(one, 1, { isLastWay: true }), { response: 'hello' })
  t.equal(stateOf(one), 'ready')
})

t.test('a stream counts when it ends, and one that breaks off as a failure', async t => {
  const [whole, broken] = [candidate(), candidate()]
  const streams = [await call(whole, null), await call(broken, null)] as const
  if (streams[0] === null || streams[1] === null) return t.fail('no stream')
  recordStreamEnd(streams[0], 500)
  recordStreamEnd(streams[1], 'broken')
  t.equal(expectedOf(whole).errorRate, 0)
  t.ok(expectedOf(whole).tokensPerSecond > prior.tokensPerSecond)
  t.ok(expectedOf(broken).errorRate > 0)

  for (let count = 0; count < 50 && stateOf(broken) !== 'open'; count++) {
    const stream = await call(broken, null)
    if (stream !== null) recordStreamEnd(stream, 'broken')
  }
  t.not(stateOf(broken), 'ready')
})

t.test('a deployment counts the requests that it works on until they fail or end', async t => {
  const [one, two] = [candidate().health, candidate().health]
  const [first, second] = [new CallCounts(), new CallCounts()]
  first.begin(one)
  first.begin(two)
  second.begin(one)
  t.same([one.calls, two.calls], [2, 1])
  first.failed(two)
  t.same([one.calls, two.calls], [2, 0])
  first.end()
  first.end()
  first.failed(one)
  t.same([one.calls, two.calls], [1, 0], 'never less than what runs')
  second.end()
  t.same([one.calls, two.calls], [0, 0])
})
