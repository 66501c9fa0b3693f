import fc from 'fast-check'
import t, { type Test } from 'tap'
import { videoDefaults } from '../../../../services/config/defaults.ts'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createJobHolds } from '../../../../services/billing/ledger/hold/job-holds.ts'
import { reportedCost } from '../../../../services/providers/reported-cost.ts'
import { insertMedia, selectMediaPage } from '../../../../services/media/rows.ts'
import { createVideoProvider } from '../../../../services/providers/video-jobs/dialect.ts'
import type { CostWatch, ReportedCost } from '../../../../services/requests/cost-watch.ts'
import type { JsonObject } from '../../../../services/shared/json.ts'
import type { Store } from '../../../../services/store/store.ts'
import { toLive, type Job } from '../../../../services/videos/job.ts'
import { createJobRows } from '../../../../services/videos/rows.ts'
import {
  endJob, noProvider, submitUnknown, withoutFrames, type End
} from '../../../../services/videos/runner/end-job.ts'
import { defaultTiming, type RunnerContext } from '../../../../services/videos/runner/runner-context.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { assertBooks, createBooks, createLog, rowOf, startLedger } from '../../billing/ledger/helper.ts'
import { createNetwork } from '../../billing/ledger/simulation.ts'
import { createClientPresence } from '../../../../services/requests/joins/client-presence.ts'
import { sampleJob } from '../jobs.ts'
import { createMedia } from '../studio.ts'
import { until } from '../../../helpers/until.ts'

/** A stored job whose money is held, at 100 nano-USD per second for at most 4 seconds. */
async function createTest (
  t: Test, open: () => Promise<Store>, more: Partial<Job> = {}, onReportedCost?: CostWatch
) {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const log = createLog()
  const { ledger } = startLedger(t, store, { log })
  const job = sampleJob({ owner: ledger.node, ...more })
  if (job.hold !== null) await ledger.reserve({ ...job.hold, durable: true })
  const connection = createNetwork(store).connect()
  const { node } = ledger
  const rows = createJobRows(connection, node, createClientPresence({ kind: 'job', store, node, takeoverMs: 1000 }))
  await rows.insert(store, job, `${job.id} 1`)
  const context: RunnerContext = {
    store: connection,
    rows,
    holds: createJobHolds(store.engine),
    reportSuspended: ledger.reportSuspended,
    media: createMedia(),
    download: () => { throw new Error('nothing is downloaded') },
    provider: () => undefined,
    settings: () => videoDefaults,
    timing: defaultTiming,
    log,
    onReportedCost,
    closing: new AbortController().signal
  }
  return {
    store,
    connection,
    log,
    ledger,
    context,
    end: async (end: End) => await endJob(context, toLive(job, 'submitting', true), end),
    job: async () => await rows.get(job.id),
    entries: async () => await store.all<{ kind: string, amount: number, estimated: number }>(
      "select kind, amount, estimated from entry where kind in ('usage', 'suspense') order by seq")
  }
}

const video = { media: 'm', url: null, mime: 'video/mp4', seconds: 3, width: null, height: null, expiresAt: null }

function success (seconds: number | null, providerCostNano: number | null = null): End {
  return { state: 'succeeded', videos: [video], seconds, providerCostNano }
}

for (const [name, end, amount, estimated] of [
  ['its seconds at the price of its start', success(3, 77), 300, 0],
  ['its order, if it is some frames longer', success(4.9), 400, 0],
  ['what the provider reports, if its length is unknown', success(null, 77), 77, 0],
  ['what is held, if nothing is known', success(null), 400, 1]
] as const) {
  forEachEngine(t, `a video that succeeded is charged ${name}`, async (t, { open }) => {
    const { end: endWith, job, entries, store } = await createTest(t, open)
    t.match(await endWith(end), { ended: { state: 'succeeded', costNano: amount } })
    t.match(await job(), { state: 'succeeded', costNano: amount, videos: [video], progress: 100 })
    t.same(await entries(), [{ kind: 'usage', amount, estimated }])
    t.match(await rowOf(store), { spent: amount, held: 0 })
    await assertBooks(t, store)
  })
}

for (const [name, how, kept] of [
  ['failed', submitUnknown, []], ['succeeded', success(3), ['other', 'picture', 'video']]
] as const) {
  forEachEngine(t, `media of a job that ${name} ${kept.length === 0 ? 'expire with it' : 'are kept'}`, async (t, { open }) => {
    const { end, store } = await createTest(t, open)
    const id = (await store.get<{ id: string }>('select id from job'))?.id ?? ''
    const later = store.clock() + 3_600_000
    for (const [media, job, mime] of [['video', id, 'video/mp4'], ['picture', id, 'image/png'], ['other', 'x', 'image/png']] as const) {
      await insertMedia(store, {
        id: media, job, account: 'acme', mime, extension: 'x', bytes: 1, sha256: '', width: 1, height: 1, createdAt: 1, expiresAt: later
      })
    }
    await end(how)
    const page = { account: 'acme', kind: undefined, now: store.clock(), after: undefined, limit: 10 }
    const listed = await selectMediaPage(store.reports, page)
    t.same(listed.map(({ id }) => id).sort(), kept.length === 0 ? ['other'] : kept)
  })
}

forEachEngine(t, 'a video that is longer than ordered is charged what is held; the excess is in suspense', async (t, { open }) => {
  const { end, job, entries, store, log } = await createTest(t, open)
  t.match(await end(success(9)), { ended: { state: 'succeeded', costNano: 400 } })
  t.match(await job(), { state: 'succeeded', costNano: 400 })
  t.same(await entries(), [
    { kind: 'usage', amount: 400, estimated: 0 }, { kind: 'suspense', amount: 500, estimated: 0 }
  ])
  t.match(await store.all('select usage, reason from entry where amount in (400, 500) order by seq'), [
    { usage: /"seconds":9,.*"excessNano":500/, reason: null }, { usage: /"seconds":9/, reason: 'over_hold' }
  ])
  t.match(log.lines, [{ level: 'warn', details: { reqId: 'job_1' } }, { level: 'info' }])
  t.match(await rowOf(store), { spent: 400, held: 0 })
  await assertBooks(t, store)
})

for (const [seconds, costNano, amount, estimated] of [
  [2 ** 32 - 1, null, 400, 1], [1e300, 77, 77, 0], [0, null, 400, 1], [-1, 77, 77, 0], [NaN, null, 400, 1],
  [86_400, null, 400, 0], [null, Number.MAX_SAFE_INTEGER, 400, 0]
] as const) {
  forEachEngine(t, `a length of ${seconds} and a cost of ${costNano} end the job and its hold`, async (t, { open }) => {
    const { end, store } = await createTest(t, open)
    t.match(await end(success(seconds, costNano)), { ended: { state: 'succeeded', costNano: amount } })
    t.match(await store.all("select amount, estimated from entry where kind = 'usage'"), [{ amount, estimated }])
    t.match(await rowOf(store), { spent: amount, held: 0 })
    await assertBooks(t, store)
  })
}

const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 1_000_000)
const numbers = fc.oneof(
  fc.constantFrom(0, -1, 0.04, 4.5, 9, 2 ** 32 - 1, 1e300, Number.MAX_SAFE_INTEGER, 2 ** 53, '5', '1e300', ' ', 'NaN', null, [4]),
  fc.double(), fc.jsonValue({ maxDepth: 1 }))

forEachEngine(t, `whatever a provider reports of a video, its hold ends in a charge (seed ${seed})`, async (t, { open }) => {
  const { store, ledger, context } = await createTest(t, open)
  let answer: JsonObject = {}
  const provider = createVideoProvider({
    submit: async () => ({}), get: async () => answer, query: async () => answer, cancel: async () => {}, codes: {}, redact: text => text, openFile: () => { throw new Error('nothing is opened') }
  }, {
    choices: () => ({ seconds: 4, size: '1280x720', sound: 'never' }),
    submit: () => ({ path: '', body: {} }),
    pollPath: handle => handle,
    read: ({ seconds, cost }) => ({
      status: 'completed', urls: 'https://x.example/v.mp4', seconds, costNano: reportedCost(cost, 1e9)
    })
  })
  let count = 0
  await fc.assert(fc.asyncProperty(numbers, numbers, async (seconds, cost) => {
    const id = `any_${++count}`
    await createAccounts(store).deposit({ id, account: 'acme', amountNano: 400 })
    const hold = { id, chain: ['acme'], key: 'key', amountNano: 400 }
    const job = sampleJob({ id, hold, owner: ledger.node })
    await ledger.reserve({ ...hold, durable: true })
    await context.rows.insert(store, job, `${job.id} 1`)
    answer = { seconds, cost }
    const state = await provider.poll('handle', new AbortController().signal)
    if (state.state !== 'succeeded') throw new Error(state.state)
    const end: End = { ...state, videos: [video], providerCostNano: state.costNano }
    const next = await endJob(context, toLive(job, 'submitting', true), end)
    if (typeof next === 'string' || !('ended' in next)) throw new Error('the job has not ended')
    const entries = await store.all<{ kind: string, amount: number }>(
      'select kind, amount from entry where ref = $1 order by seq', [id])
    const [charge, ...excess] = entries
    if (charge?.kind !== 'usage' || charge.amount > 400) throw new Error(JSON.stringify(entries))
    if (charge.amount !== next.ended.costNano) throw new Error(`told ${next.ended.costNano}`)
    if (excess.length > 1 || excess.some(({ kind }) => kind !== 'suspense')) throw new Error(JSON.stringify(entries))
  }), { numRuns: Number(process.env['FUZZ_RUNS'] ?? 40), seed })
  t.match(await store.all("select count(*) as open from hold where kind = 'job' and state = 0"), [{ open: 1 }])
  await assertBooks(t, store)
})

forEachEngine(t, 'a failure that the provider does not charge releases the money', async (t, { open }) => {
  const { end, job, entries, store, log } = await createTest(t, open)
  t.match(await end(noProvider), { ended: { state: 'failed', costNano: 0, failure: { code: 'no_provider' } } })
  t.match(await job(), { expiresAt: Number, finishedAt: Number })
  t.same(await entries(), [])
  t.match(await rowOf(store), { spent: 0, held: 0 })
  t.match(log.lines, [{ level: 'info' }])
  await assertBooks(t, store)
})

forEachEngine(t, 'one that the provider may charge is booked to suspense, not to the account', async (t, { open }) => {
  const { end, entries, store, log } = await createTest(t, open)
  t.match(await end(submitUnknown), { ended: { state: 'failed', costNano: 0 } })
  t.same(await entries(), [{ kind: 'suspense', amount: 400, estimated: 1 }])
  t.match(await rowOf(store), { spent: 0, held: 0 })
  t.match(log.lines, [
    { level: 'error', details: { reqId: 'job_1', reason: 'unverified' } },
    { level: 'info', details: { code: 'upstream_submit_unknown' } }
  ])
  await assertBooks(t, store)
})

forEachEngine(t, 'a job ends once: a second end reports the first', async (t, { open }) => {
  const { end, entries } = await createTest(t, open)
  await end(success(3))
  t.match(await end(noProvider), { ended: { state: 'succeeded', costNano: 300 } })
  t.equal((await entries()).length, 1)
})

forEachEngine(t, 'an end whose answer was lost is repeated without effect', async (t, { open }) => {
  const { end, entries, connection, store, log } = await createTest(t, open)
  connection.weather = 'answer lost'
  const ended = end(success(3))
  await until(() => log.lines.length > 0)
  t.match(await rowOf(store), { spent: 300 }, 'it had come through')
  connection.weather = 'well'
  t.match(await ended, { ended: { state: 'succeeded' } })
  t.equal((await entries()).length, 1)
  await assertBooks(t, store)
})

forEachEngine(t, 'a job that another node has taken over is left to it', async (t, { open }) => {
  const { end, job, entries, store } = await createTest(t, open)
  await store.run("update job set owner = 'other', fence = fence + 1")
  t.equal(await end(success(3)), 'lost')
  t.match(await job(), { state: 'submitting', finishedAt: null })
  t.same(await entries(), [])
  t.match(await rowOf(store), { held: 400 })
})

forEachEngine(t, 'the entry of a video has its tags, its provider and what that costs', async (t, { open }) => {
  const reported: ReportedCost[] = []
  const { end, store } = await createTest(t, open, {
    tags: { project: 'x' }, candidates: [{ provider: 'one', model: 'm' }, { provider: 'two', model: 'm', costNano: 60 }], candidate: 1
  }, cost => { reported.push(cost) })
  await end(success(3, 77))
  await end(success(3, 77))
  t.match(await store.all("select provider, usage from entry where kind = 'usage'"), [
    { provider: 'two', usage: '{"seconds":3,"videos":1,"cost":180,"reported":77,"tags":{"project":"x"}}' }
  ])
  t.same(reported, [{ provider: 'two', model: 'film', expectedNano: 180, reportedNano: 77 }], 'once')
})

forEachEngine(t, 'a free job is booked with the amount 0, unless it failed', async (t, { open }) => {
  const { end, entries, store } = await createTest(t, open, { hold: null, secondNano: 0 })
  t.match(await end(success(3)), { ended: { state: 'succeeded', costNano: 0 } })
  t.same(await entries(), [{ kind: 'usage', amount: 0, estimated: 0 }])
  t.match(await store.all('select debit, api_key, provider, usage, hold from entry where amount = 0'),
    [{ debit: 'acme', api_key: 'key', provider: 'p', usage: '{"seconds":3,"videos":1}', hold: null }])
  await assertBooks(t, store)
})

forEachEngine(t, 'a free job that failed leaves no entry', async (t, { open }) => {
  const { end, entries } = await createTest(t, open, { hold: null, secondNano: 0 })
  await end(submitUnknown)
  t.same(await entries(), [])
})

t.test('the bytes of frames are dropped from a job that has ended, addresses stay', async t => {
  const task = { ...sampleJob().task, firstFrame: 'data:image/png;base64,AA==', lastFrame: 'https://x.example/a.png' }
  t.same(withoutFrames({ task }), { ...task, firstFrame: null })
})
