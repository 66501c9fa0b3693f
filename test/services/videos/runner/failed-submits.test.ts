import t, { type Test } from 'tap'
import { createDatabase, forEachEngine, type Database } from '../../../helpers/engines.ts'
import type { FakeVideoApi } from '../../../servers/videos/fake-api.ts'
import { kling } from '../../../servers/videos/kling.ts'
import { replicate } from '../../../servers/videos/replicate.ts'
import { html, reply, reset, stall, type Script } from '../../../servers/videos/server.ts'
import { connect } from '../../providers/video-jobs/helper.ts'
import { busy, createProvider, lost } from '../provider.ts'
import type { Store } from '../../../../services/store/store.ts'
import { checkBooks, jobsIn, openAccount, startStudio, type Studio, type StudioOptions } from '../studio.ts'
import { until } from '../../../helpers/until.ts'

const maxSubmits = 5
const apis: Record<string, FakeVideoApi> = { kling, replicate }
const failures: Record<string, Script> = {
  500: reply({ status: 500, body: { message: 'internal error' } }),
  502: html(502),
  504: html(504),
  reset,
  timeout: stall
}
/** A backoff that no test waits for. */
const slow = { doubtMs: 0, backoffMs: 60_000, maxBackoffMs: 60_000 }

interface StartOptions extends StudioOptions { api?: FakeVideoApi, failure?: Script }

/** A node that makes videos at a fake provider, whose submits fail from the first one on. */
async function start (
  t: Test, store: Store, { api = kling, failure = reset, ...options }: StartOptions = {}
) {
  const { server, provider } = await connect(t, api, {
    extra: ({ kind }) => kind === 'list' ? { body: { results: [] } } : null
  })
  for (let count = 0; count < 200; count++) server.script('submit', failure)
  const studio = await startStudio(t, store, {
    makers: { up: provider }, upstreamModel: api.model, settings: { heartbeat: false }, ...options
  })
  return { studio, posts: () => server.requests.filter(({ kind }) => kind === 'submit').length }
}

async function onlyJob (store: Store) {
  const [job] = await jobsIn(store)
  if (job === undefined) throw new Error('no job')
  return job
}

async function suspended (store: Store): Promise<number> {
  const entries = await store.all<{ amount: number }>("select amount from entry where kind = 'suspense'")
  return entries.reduce((sum, { amount }) => sum + amount, 0)
}

const heldBy = async (studio: Studio): Promise<number> => (await studio.ledger.balance('paying')).heldNano

async function open (database: Database, clock?: () => number): Promise<Store> {
  const store = await database.open(clock)
  await openAccount(store)
  return store
}

for (const [name, api] of Object.entries(apis)) {
  for (const [kind, failure] of Object.entries(failures)) {
    forEachEngine(t, `${name}: submits that end in ${kind} are counted, and then the job ends`, async (t, database) => {
      const store = await open(database)
      const { studio, posts } = await start(t, store, { api, failure, timing: { callMs: 200 } })
      const { status, body } = await studio.ask({ video: { seconds: 5 } })
      t.match([status, body.error.code], [502, 'upstream_submit_unknown'])
      t.equal(posts(), maxSubmits)
      t.equal((await onlyJob(store)).attempts, maxSubmits, 'the count is stored')
      t.equal(await heldBy(studio), 0)
      t.equal(await suspended(store), 500_000_000)
      await checkBooks(t, store)
    })
  }
}

t.test('the pauses between submits that may have arrived grow', async t => {
  const store = await open(await createDatabase(t, 'sqlite'))
  const times: number[] = []
  const failure: Script = (response, received) => {
    times.push(performance.now())
    return reset(response, received)
  }
  const timing = { doubtMs: 0, backoffMs: 40, maxBackoffMs: 160 }
  const { studio } = await start(t, store, { failure, timing })
  t.equal((await studio.ask()).status, 502)
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0))
  t.equal(pauses.length, maxSubmits - 1)
  // Less the jitter of a tenth.
  for (const [index, ms] of [36, 72, 144, 144].entries()) t.ok((pauses[index] ?? 0) >= ms - 1, `${pauses}`)
})

forEachEngine(t, 'the deadline ends a job in doubt', async (t, database) => {
  let aheadMs = 0
  const store = await open(database, () => Date.now() + aheadMs)
  const { studio, posts } = await start(t, store, { timing: { ...slow, backoffMs: 100, maxBackoffMs: 100 } })
  const asked = studio.ask()
  await until(() => posts() === 1)
  aheadMs = 3_600_000
  t.match([(await asked).status, (await asked).body.error.code], [502, 'upstream_submit_unknown'])
  t.equal(posts(), 1)
  t.equal(await suspended(store), 500_000_000)
  await checkBooks(t, store)
})

for (const [name, api] of Object.entries(apis)) {
  forEachEngine(t, `${name}: a job in doubt that an operator cancels ends at once, perhaps charged`, async (t, database) => {
    const store = await open(database)
    const { studio, posts } = await start(t, store, { api, timing: slow })
    const asked = studio.ask({ video: { seconds: 5 } })
    await until(() => posts() === 1)
    await store.run('update job set cancel = 1')
    t.match([(await asked).status, (await asked).body.error.code], [409, 'job_cancelled'])
    t.equal(posts(), 1)
    t.equal((await onlyJob(store)).state, 'cancelled')
    t.equal(await heldBy(studio), 0)
    t.equal(await suspended(store), 500_000_000)
    await checkBooks(t, store)
  })

  forEachEngine(t, `${name}: a job in doubt that its client deletes ends at once, perhaps charged`, async (t, database) => {
    const store = await open(database)
    const { studio, posts } = await start(t, store, { api, timing: slow })
    const asked = studio.ask({ video: { seconds: 5 } })
    await until(() => posts() === 1)
    t.ok(await studio.service.library.remove('paying', (await onlyJob(store)).id))
    t.equal((await asked).body.error.code, 'job_cancelled')
    t.equal(posts(), 1)
    t.equal(await heldBy(studio), 0)
    t.equal(await suspended(store), 500_000_000)
    await checkBooks(t, store)
  })
}

forEachEngine(t, 'a refusal does not settle the doubt of an earlier submit', async (t, database) => {
  const store = await open(database)
  const [one, other] = [createProvider({ submitsOnce: true }), createProvider()]
  one.submitErrors.push(lost(), busy(), busy(), busy(), busy())
  const studio = await startStudio(t, store, { makers: { one, other } })
  const { body } = await studio.ask({ video: { seconds: 5 } })
  t.equal(body.error.code, 'upstream_submit_unknown')
  t.equal(other.submits.length, 0, 'a second video is not ordered elsewhere')
  t.equal(await suspended(store), 500_000_000)
  await checkBooks(t, store)
})

t.test('an adapter that throws what it should not is called as often as one that fails', async t => {
  const store = await open(await createDatabase(t, 'sqlite'))
  const provider = createProvider({ submitsOnce: true })
  let calls = 0
  provider.submit = async () => {
    calls++
    throw new TypeError('not what it seemed')
  }
  const studio = await startStudio(t, store, { makers: { provider } })
  t.equal((await studio.ask()).body.error.code, 'upstream_submit_unknown')
  t.equal(calls, maxSubmits)
  await checkBooks(t, store)
})

for (const cancels of [true, false]) {
  forEachEngine(t, `a cancelled job whose provider is no longer configured ends at once (it could cancel: ${cancels})`, async (t, database) => {
    const store = await open(database)
    const provider = createProvider({ cancels })
    const makers: Record<string, typeof provider> = { up: provider }
    const studio = await startStudio(t, store, { makers, timing: { ...slow, watchMs: 20 } })
    const submitted = provider.nextSubmit()
    const asked = studio.ask({ video: { seconds: 5 } })
    provider.set(await submitted, { state: 'running', progress: null })
    await until(async () => (await onlyJob(store)).state === 'running')
    delete makers.up
    await until(() => studio.logged.some(([, message]) => /provider .*not configured/.test(message)))
    await store.run('update job set cancel = 1')
    t.equal((await asked).body.error.code, 'job_cancelled')
    t.equal(await heldBy(studio), 0)
    t.equal(await suspended(store), 500_000_000, 'the provider may go on')
    await checkBooks(t, store)
  })
}

t.test('a job in doubt whose provider is no longer configured waits for it, and is not ordered elsewhere', async t => {
  let aheadMs = 0
  const store = await open(await createDatabase(t, 'sqlite'), () => Date.now() + aheadMs)
  const [one, other] = [createProvider({ submitsOnce: true }), createProvider()]
  one.submitErrors.push(lost())
  const makers: Record<string, typeof one> = { one, other }
  const studio = await startStudio(t, store, { makers })
  const submitted = one.nextSubmit()
  const asked = studio.ask()
  await submitted
  delete makers.one
  await until(() => studio.logged.some(([, message]) => /provider .*not configured/.test(message)))
  aheadMs = 3_600_000
  t.equal((await asked).body.error.code, 'upstream_submit_unknown')
  t.equal(other.submits.length, 0)
  await checkBooks(t, store)
})

t.test('a job that is being stored ends at its deadline, whatever its provider throws', async t => {
  let aheadMs = 0
  const store = await open(await createDatabase(t, 'sqlite'), () => Date.now() + aheadMs)
  const provider = createProvider()
  const download = async () => { throw new Error('no connection') }
  const studio = await startStudio(t, store, { makers: { up: provider }, download })
  const submitted = provider.nextSubmit()
  const asked = studio.ask()
  provider.finish(await submitted, { videos: [{ url: 'https://videos.example/a.mp4' }] })
  await until(async () => (await onlyJob(store)).state === 'storing')
  provider.poll = async () => { throw new TypeError('not what it seemed') }
  aheadMs = 3_600_000
  t.equal((await asked).body.error.code, 'upstream_result_lost')
  t.equal(await heldBy(studio), 0)
  await checkBooks(t, store)
})
