import t, { type Test } from 'tap'
import { videoDefaults } from '../../../../services/config/defaults.ts'
import { createJobHolds } from '../../../../services/ledger/hold/job-holds.ts'
import type { Store } from '../../../../services/store/store.ts'
import { toLive, type Job } from '../../../../services/videos/job.ts'
import { createJobRows } from '../../../../services/videos/rows.ts'
import {
  endJob, noProvider, submitUnknown, withoutFrames, type End
} from '../../../../services/videos/runner/end-job.ts'
import { defaultTiming, type RunnerContext } from '../../../../services/videos/runner/runner-context.ts'
import { forEachEngine } from '../../../engines.ts'
import { assertBooks, createBooks, createLog, rowOf, startLedger } from '../../ledger/helper.ts'
import { createNetwork } from '../../ledger/simulation.ts'
import { sampleJob } from '../jobs.ts'
import { createMedia } from '../studio.ts'

/** A stored job whose money is held, at 100 nano-USD per second for at most 4 seconds. */
async function createTest (t: Test, open: () => Promise<Store>, more: Partial<Job> = {}) {
  const store = await open()
  await createBooks(store, { acme: 1000 })
  const { ledger } = startLedger(t, store)
  const job = sampleJob({ owner: ledger.node, ...more })
  if (job.hold !== null) await ledger.reserve({ ...job.hold, durable: true })
  const connection = createNetwork(store).connect()
  const rows = createJobRows(connection, ledger.node)
  await rows.insert(store, job)
  const log = createLog()
  const context: RunnerContext = {
    store: connection,
    rows,
    holds: createJobHolds(store.engine),
    media: createMedia(),
    download: () => { throw new Error('nothing is downloaded') },
    provider: () => undefined,
    settings: () => videoDefaults,
    timing: defaultTiming,
    log,
    closing: new AbortController().signal
  }
  return {
    store,
    connection,
    log,
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
  ['never more than is held', success(9), 400, 0],
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
  t.match(log.lines, [{ level: 'error', details: { code: 'upstream_submit_unknown' } }])
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
  while (log.lines.length === 0) await new Promise(setImmediate)
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

forEachEngine(t, 'a free job ends without an entry', async (t, { open }) => {
  const { end, entries } = await createTest(t, open, { hold: null })
  t.match(await end(success(3)), { ended: { state: 'succeeded', costNano: 0 } })
  t.same(await entries(), [])
})

t.test('the bytes of frames are dropped from a job that has ended, addresses stay', async t => {
  const task = { ...sampleJob().task, firstFrame: 'data:image/png;base64,AA==', lastFrame: 'https://x.example/a.png' }
  t.same(withoutFrames({ task }), { ...task, firstFrame: null })
})
