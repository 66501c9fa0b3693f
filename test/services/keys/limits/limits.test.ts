import t from 'tap'
import type { Test } from 'tap'
import type { GatewayError } from '../../../../services/shared/errors.ts'
import { createRateLimiter } from '../../../../services/keys/limits/limits.ts'
import type { Admission } from '../../../../services/keys/limits/limits.ts'
import { noLimits } from '../../../../services/shared/limits.ts'
import { StoreUnavailable } from '../../../../services/store/store.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../../helpers/engines.ts'
import { runningMs } from '../../../helpers/running-time.ts'
import { until } from '../../../helpers/until.ts'

/** A node on a store, with the test's clock; maintenance runs every 5 ms. */
function node (t: Test, store: Store, name: string, time: { ms: number }) {
  const limits = createRateLimiter({
    store, node: name, clock: () => time.ms, onError: error => t.fail(String(error)), maintenanceMs: 5
  })
  t.teardown(() => limits.close())
  return limits
}

const scope = (more: object) => [{ ...noLimits, scope: 'key:a', ...more }]

/** The admission, or the refusal instead. */
async function outcome (admitted: () => Admission | Promise<Admission>): Promise<Admission | GatewayError> {
  try {
    return await admitted()
  } catch (error) {
    return error as GatewayError
  }
}

const isAdmitted = (one: Admission | GatewayError): one is Admission => 'end' in one

forEachEngine(t, 'two nodes together admit exactly the limit, in any order of requests', async (t, database) => {
  const time = { ms: 600_000 }
  const nodes = [node(t, await database.open(), 'one', time), node(t, await database.open(), 'two', time)]
  const limits = scope({ requestsPerMinute: 50 })
  const outcomes = (await Promise.all(Array.from({ length: 120 }, (_, index) =>
    outcome(() => nodes[index % 2]!.admit(limits, 0)))))
  const admitted = outcomes.filter(isAdmitted)
  t.ok(admitted.length <= 50, `${admitted.length} of 50`)
  // A node returns what is left of its allowance, and then the other may use it.
  let total = admitted.length
  await until(async () => {
    time.ms += 100
    for (const one of nodes) if (isAdmitted(await outcome(() => one.admit(limits, 0)))) total++
    return time.ms > 610_000
  })
  t.equal(total, 50, 'no more, and in the end no less')
  const refused = await outcome(() => nodes[0]!.admit(limits, 0))
  t.match(refused, {
    status: 429,
    code: 'rate_limit_exceeded',
    type: 'requests',
    message: /^Rate limit reached for key `a` on requests per min \(RPM\): Limit 50, Used 50, Requested 1\. Please/,
    headers: { 'x-ratelimit-limit-requests': '50', 'x-ratelimit-remaining-requests': '0' }
  })
  const waitMs = Number(refused.headers['retry-after-ms'])
  t.equal(refused.headers['retry-after'], String(Math.ceil(waitMs / 1000)))
  time.ms += waitMs + 1000
  t.ok(isAdmitted(await outcome(() => nodes[0]!.admit(limits, 0))), 'one is left after that time')
})

forEachEngine(t, 'most requests need no query', async (t, database) => {
  const store = await database.open()
  let exchanges = 0
  const counted: Store = {
    ...store,
    transaction: work => { exchanges++; return store.transaction(work) },
    all: (sql, params) => { exchanges += 0.5; return store.all(sql, params) }
  }
  const time = { ms: 600_000 }
  const limits = node(t, counted, 'one', time)
  for (let index = 0; index < 10_000; index++) {
    const admission = limits.admit(scope({ requestsPerMinute: 1_000_000 }), 0)
    if (admission instanceof Promise) await admission
  }
  t.ok(exchanges <= 2, `${exchanges} exchanges`)
})

forEachEngine(t, 'tokens are reserved, then corrected to what was used', async (t, database) => {
  const time = { ms: 600_000 }
  const limits = node(t, await database.open(), 'one', time)
  const scopes = scope({ tokensPerMinute: 1000 })
  const first = await limits.admit(scopes, 900)
  t.match(await outcome(() => limits.admit(scopes, 200)), { status: 429, type: 'tokens' })
  first.end({ counts: true, tokens: 100 })
  first.end({ counts: true, tokens: 0 })
  time.ms += 2000
  const second = await limits.admit(scopes, 800)
  t.equal(second.headers['x-ratelimit-remaining-tokens'], '100')
  second.end({ counts: true, tokens: 2000 })
  time.ms += 2000
  t.match(await outcome(() => limits.admit(scopes, 1)), { status: 429 }, 'the excess of a longer answer is deducted')
  t.match(await outcome(() => limits.admit(scopes, 1001)),
    { status: 429, message: /^Request too large/, headers: { 'x-should-retry': 'false' } })
})

forEachEngine(t, 'a request that does not count takes nothing', async (t, database) => {
  const limits = node(t, await database.open(), 'one', { ms: 600_000 })
  for (let index = 0; index < 20; index++) {
    const admission = await limits.admit(scope({ requestsPerMinute: 2, tokensPerMinute: 10 }), 10)
    admission.end({ counts: false, tokens: null })
  }
  t.pass('all were admitted')
})

forEachEngine(t, 'a slot is free again when its request ends, and when its node has crashed', async (t, database) => {
  const time = { ms: 600_000 }
  const store = await database.open()
  const other = await database.open()
  let isDead = false
  // A killed node writes nothing.
  const untilDead = <Result>(work: () => Promise<Result>) => isDead ? new Promise<Result>(() => {}) : work()
  const mortal: Store = {
    ...other,
    transaction: work => untilDead(() => other.transaction(work)),
    all: (sql, params) => untilDead(() => other.all(sql, params))
  }
  const survivor = node(t, store, 'survivor', time)
  const killed = createRateLimiter({ store: mortal, node: 'killed', clock: () => time.ms, onError: () => {}, maintenanceMs: 5 })
  const limits = scope({ concurrentRequests: 4 })
  const held = [await killed.admit(limits, 0), await killed.admit(limits, 0), await survivor.admit(limits, 0)]
  const fourth = await (async () => {
    for (;;) {
      const one = await outcome(() => survivor.admit(limits, 0))
      if (isAdmitted(one)) return one
      // The other node keeps a spare slot until it is idle.
      time.ms += 500
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  })()
  t.match(await outcome(() => survivor.admit(limits, 0)), { status: 429, message: /concurrent requests: Limit 4/ })
  fourth.end({ counts: true, tokens: null })
  held.push(await survivor.admit(limits, 0))
  isDead = true
  time.ms += 16_000
  held.push(await survivor.admit(limits, 0), await survivor.admit(limits, 0))
  t.match(await outcome(() => survivor.admit(limits, 0)), { status: 429 }, 'four run, not one more')
})

t.test('without the store, each node admits the limit on its own and no more', async t => {
  const away = new StoreUnavailable(new Error('away'))
  const unused = () => Promise.reject(away)
  const store: Store = {
    engine: 'sqlite',
    clock: Date.now,
    reports: { all: unused, get: unused },
    transaction: unused,
    run: unused,
    all: unused,
    get: unused,
    close: async () => {}
  }
  const limits = node(t, store, 'one', { ms: 600_000 })
  const scopes = scope({ requestsPerMinute: 5, concurrentRequests: 5 })
  const outcomes = []
  for (let index = 0; index < 8; index++) outcomes.push(await outcome(() => limits.admit(scopes, 0)))
  t.equal(outcomes.filter(isAdmitted).length, 5)
  t.match(outcomes.at(-1), { status: 429 })
})

t.test('a store that does not answer delays requests by 2 s once, then each node counts alone', async t => {
  const database = await createDatabase(t, 'sqlite')
  const store = await database.open()
  const time = { ms: 600_000 }
  const answers = Promise.withResolvers<void>()
  let asked = 0
  const silent: Store = {
    ...store,
    transaction: async work => {
      asked++
      await answers.promise
      return await store.transaction(work)
    }
  }
  const limits = node(t, silent, 'one', time)
  const scopes = scope({ requestsPerMinute: 5 })
  const [startedMs, beganMs] = [performance.now(), runningMs()]
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => outcome(() => limits.admit(scopes, 0))))
  const [waitedMs, ranMs] = [performance.now() - startedMs, runningMs() - beganMs]
  t.ok(waitedMs > 1_500 && ranMs < 4_000, `the first answers after ${waitedMs} ms`)
  t.equal(outcomes.filter(isAdmitted).length, 5)
  t.match(outcomes.at(-1), { status: 429 })

  time.ms += 2_000
  const laterMs = runningMs()
  t.ok(isAdmitted(await outcome(() => limits.admit(scope({ scope: 'key:b', requestsPerMinute: 5 }), 0))))
  t.match(await outcome(() => limits.admit(scopes, 0)), { status: 429 })
  t.ok(runningMs() - laterMs < 1_000, 'others do not wait')
  t.equal(asked, 1)

  answers.resolve()
  await until(async () => {
    time.ms += 100
    await outcome(() => limits.admit(scopes, 0))
    const row = await store.get<{ used: number }>("select used from rate_window where scope = 'key:a'")
    return (row?.used ?? 0) >= 5
  })
  t.pass('what was admitted alone is counted when the store answers again')
})
