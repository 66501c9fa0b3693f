import t from 'tap'
import { createClientPresence } from '../../../services/requests/joins/client-presence.ts'
import { createJobRows } from '../../../services/videos/rows.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { createBooks } from '../billing/ledger/helper.ts'
import { fullJob, sampleJob } from './jobs.ts'
import type { Store } from '../../../services/store/store.ts'

const rowsOf = (store: Store, node: string) =>
  createJobRows(store, node, createClientPresence({ kind: 'job', store, node, takeoverMs: 1000 }))

async function openRows (open: () => Promise<Store>) {
  const store = await open()
  await createBooks(store, { acme: 1000, budget: 1000 })
  return { store, rows: rowsOf(store, 'node') }
}

forEachEngine(t, 'every field of a job is read as it was written', async (t, { open }) => {
  const { store, rows } = await openRows(open)
  for (const job of [sampleJob(), fullJob, sampleJob({ id: 'free', hold: null })]) {
    t.equal(await rows.insert(store, job, `${job.id} 1`), true)
    t.strictSame(await rows.get(job.id), job)
  }
})

forEachEngine(t, 'a change sets every field it names, and no other', async (t, { open }) => {
  const { store, rows } = await openRows(open)
  const job = sampleJob()
  await rows.insert(store, job, `${job.id} 1`)
  const { candidate, handle, progress, attempts, task, costNano, videos, failure } = fullJob
  const change = { state: 'running' as const, candidate, handle, progress, attempts, task, costNano, videos, failure }
  const times = { submittedAt: 1, polledAt: 2, expiresAt: 3 }
  t.equal(await rows.change(job, { ...change, ...times }), true)
  t.strictSame(await rows.get(job.id), { ...job, ...change, ...times })
  const cleared = {
    handle: null, progress: null, failure: null, costNano: null, submittedAt: null, expiresAt: null
  }
  await rows.change(job, cleared)
  t.match(await rows.get(job.id), { ...cleared, videos })
  await rows.change(job, { state: 'expired', finishedAt: 9 })
  t.match(await rows.get(job.id), { state: 'expired', finishedAt: 9 })
})

forEachEngine(t, 'a job is changed by its owner alone, under its own fence, until it ends', async (t, { open }) => {
  const { store, rows } = await openRows(open)
  const job = sampleJob()
  await rows.insert(store, job, `${job.id} 1`)
  t.equal(await rowsOf(store, 'other').change(job, { progress: 1 }), false)
  t.equal(await rows.change({ ...job, fence: 1 }, { progress: 1 }), false)
  t.equal(await rows.change(job, { state: 'failed', finishedAt: 1 }), true)
  t.equal(await rows.change(job, { progress: 1 }), false)
  t.match(await rows.get(job.id), { progress: null })
})

forEachEngine(t, 'texts from outside lose the character NUL, which Postgres cannot store', async (t, { open }) => {
  const { store, rows } = await openRows(open)
  const job = sampleJob({ task: { ...sampleJob().task, prompt: 'a\0b' } })
  await rows.insert(store, job, `${job.id} 1`)
  t.equal((await rows.get(job.id))?.task.prompt, 'ab')
  await rows.change(job, { failure: { status: 400, type: 't', code: null, param: null, message: 'c\0d' } })
  t.equal((await rows.get(job.id))?.failure?.message, 'cd')
})
