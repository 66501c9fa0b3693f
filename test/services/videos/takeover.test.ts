import t from 'tap'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { createClientPresence } from '../../../services/requests/joins/client-presence.ts'
import { createJobRows } from '../../../services/videos/rows.ts'
import { createProvider } from './provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio } from './studio.ts'
import { until } from '../../helpers/until.ts'

forEachEngine(t, 'a node that stops hands its jobs over, and its clients find them at another one', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const [provider, media] = [createProvider(), createMedia()]
  const first = await startStudio(t, one, { makers: { provider }, media })
  const second = await startStudio(t, other, { makers: { provider }, media })
  const submitted = provider.nextSubmit()
  const asked = first.ask()
  const handle = await submitted
  await until(async () => (await jobsIn(other))[0]?.state === 'queued')
  await first.close()
  t.match([(await asked).status, (await asked).headers['retry-after']], [503, '1'], 'who waits is told to come back')
  const back = second.ask({}, { 'x-stainless-retry-count': '1' })
  await until(() => second.service.running === 1)
  provider.finish(handle)
  t.equal((await back).status, 200)
  t.equal(provider.submits.length, 1)
  await checkBooks(t, other)
})

/** A store that can be cut off, as a partition of the network does. */
function severable (store: Store): Store & { cut: boolean } {
  const guard = <Arguments extends unknown[], Result>(work: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      if (severed.cut) throw new StoreUnavailable(new Error('cut off'))
      const result = await work(...given)
      if (severed.cut) throw new StoreUnavailable(new Error('cut off'))
      return result
    }
  const severed = {
    cut: false,
    engine: store.engine,
    reports: store.reports,
    clock: store.clock,
    all: guard(store.all) as Store['all'],
    get: guard(store.get) as Store['get'],
    run: guard(store.run),
    transaction: guard(store.transaction) as Store['transaction'],
    close: store.close
  }
  return severed
}

t.test('a node that is cut off keeps its hands off its jobs, and changes nothing when it is back', async t => {
  const database = await createDatabase(t, 'postgres')
  const [one, other] = [severable(await database.open()), await database.open()]
  await openAccount(other)
  const [provider, media] = [createProvider(), createMedia()]
  const settings = { takeoverAfterMs: 400 }
  const cutOff = await startStudio(t, one, { makers: { provider }, media, settings })
  const healthy = await startStudio(t, other, { makers: { provider }, media, settings })
  const submitted = provider.nextSubmit()
  const asked = cutOff.ask().catch(() => null)
  const handle = await submitted
  await until(async () => (await jobsIn(other))[0]?.state === 'queued')

  one.cut = true
  await until(() => healthy.service.running === 1)
  t.match(await jobsIn(other), [{ owner: healthy.ledger.node, fence: 1 }])
  const polls = provider.polls
  one.cut = false
  provider.finish(handle)
  await until(async () => (await jobsIn(other))[0]?.state === 'succeeded')
  t.ok(provider.polls > polls)
  await until(() => cutOff.service.running === 0)
  t.equal((await asked)?.status, 200, 'its own client has the video all the same')
  t.equal(provider.submits.length, 1)
  await checkBooks(t, other)
})

forEachEngine(t, 'a job that an operator cancels ends on whatever node it is, and costs nothing', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  for (const cancels of [true, false]) {
    const provider = createProvider({ cancels })
    const studio = await startStudio(t, store, { makers: { provider } })
    const submitted = provider.nextSubmit()
    const asked = studio.ask({ messages: [{ role: 'user', content: String(cancels) }] })
    await submitted
    await store.run('update job set cancel = 1 where finished_at is null')
    const { status, body, headers } = await asked
    t.match([status, body.error.code, headers['x-should-retry']], [409, 'job_cancelled', 'false'])
    t.equal(provider.cancels.length, cancels ? 1 : 0)
    await studio.close()
  }
  const suspense = await store.get<{ count: number }>("select count(*) as count from entry where kind = 'suspense'")
  t.equal(suspense?.count, 1, 'what cannot be stopped may be charged, and the operator sees it')
  await checkBooks(t, store)
})

t.test('a job that has not begun and that nobody waits for is given up', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider({ cancels: true })
  const { ask } = await startStudio(t, store, { makers: { provider }, settings: { abandonAfterMs: 100 } })
  const gone = new AbortController()
  const submitted = provider.nextSubmit()
  const asked = ask({}, {}, gone.signal)
  await submitted
  gone.abort()
  await t.rejects(asked)
  await until(async () => (await jobsIn(store))[0]?.state === 'cancelled')
  t.equal(provider.cancels.length, 1)
  await checkBooks(t, store)
})

t.test('nothing is written while a job goes on, and other nodes are asked once in a while for all', async t => {
  const database = await createDatabase(t, 'postgres')
  const [one, other] = [await database.open(), await database.open()]
  await openAccount(one)
  const statements: string[] = []
  const counted: Store = {
    ...other,
    all: async (sql, params) => {
      statements.push(sql)
      return await other.all(sql, params)
    },
    run: async (sql, params) => {
      statements.push(sql)
      return await other.run(sql, params)
    },
    get: async (sql, params) => {
      statements.push(sql)
      return await other.get(sql, params)
    }
  }
  const provider = createProvider()
  const shared = { makers: { provider }, media: createMedia(), timing: { watchMs: 200 } }
  const working = await startStudio(t, one, shared)
  const waiting = await startStudio(t, counted, shared)
  const clients = Array.from({ length: 20 }, (_, index) => {
    const headers = { 'idempotency-key': `job-${index}` }
    return { first: working.ask({}, headers), join: () => waiting.ask({}, headers) }
  })
  await until(() => provider.submits.length === 20)
  const joined = clients.map(({ join }) => join())
  await until(() => waiting.service.longPolls === 20)
  const isJob = (sql: string): boolean => / job /.test(sql) && !/node/.test(sql)
  statements.length = 0
  const [before, started] = [provider.polls, performance.now()]
  await until(() => provider.polls > before + 400)
  const looks = (performance.now() - started) / 200
  const asked = statements.filter(isJob)
  t.ok(asked.filter(sql => sql.includes('finished_at is not null')).length <= looks + 1, `${asked.length} questions in ${looks} periods`)
  t.notOk(asked.some(sql => /^\s*update/.test(sql) && !sql.includes('skip locked')), 'and nothing is written')
  for (const { submitKey } of provider.submits) provider.finish(`video-${submitKey}`)
  const all = await Promise.all([...joined, ...clients.map(({ first }) => first)])
  t.ok(all.every(({ status }) => status === 200))
  await checkBooks(t, one)
})

t.test('what is asked all the time is answered from an index, however many jobs there have been', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const plans: string[] = []
  const explained: Store = {
    ...store,
    async all (sql, params) {
      const steps = await store.all<{ detail: string }>(`explain query plan ${sql}`, params)
      plans.push(steps.map(({ detail }) => detail).join('; '))
      return await store.all(sql, params)
    }
  }
  const rows = createJobRows(explained, 'node', createClientPresence({ kind: 'job', store: explained, node: 'node', takeoverMs: 1000 }))
  await rows.alike('key', 'hash', { sinceMs: 0, nowMs: 0 })
  await rows.adopt(['dead'])
  await rows.finished(['job'])
  await rows.cancelled()
  await rows.owners()
  const wanted = [/using index job_body/i, /using index job_live/i, /autoindex_job/i, /using index job_live/i, /using index job_live/i]
  t.equal(plans.length, wanted.length)
  for (const [index, plan] of plans.entries()) {
    t.match(plan, wanted[index])
    t.notMatch(plan, /scan job($|;| using index job_(created|account))/i)
  }
})
