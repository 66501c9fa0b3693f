import t from 'tap'
import { forEachEngine } from '../../helpers/engines.ts'
import { createProvider } from './provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio } from './studio.ts'
import { until } from '../../helpers/until.ts'

const retry = { 'x-stainless-retry-count': '1' }

forEachEngine(t, 'a counted retry does not join a job whose client still waits', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const provider = createProvider()
  const shared = { makers: { provider }, media: createMedia() }
  const nodes = [await startStudio(t, one, shared), await startStudio(t, other, shared)]
  const first = nodes[0]!.ask()
  await until(() => provider.submits.length === 1)
  // Their first attempts were refused before they had jobs.
  const others = nodes.map(({ ask }) => ask({}, retry))
  await until(() => provider.submits.length === 3)
  for (const { submitKey } of provider.submits) provider.finish(`video-${submitKey}`)
  const answers = await Promise.all([first, ...others])
  t.strictSame(answers.map(({ status }) => status), [200, 200, 200])
  t.equal(new Set(answers.map(({ headers }) => headers['x-tollgate-job-id'])).size, 3)
  const fourth = nodes[0]!.ask({}, retry)
  await until(() => provider.submits.length === 4)
  provider.finish(`video-${provider.submits[3]?.submitKey}`)
  t.equal((await fourth).status, 200, 'nor one that was delivered')
  await checkBooks(t, one)
})

forEachEngine(t, 'a job goes on until the last of its clients has left, whichever nodes they are on', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const provider = createProvider({ cancels: true })
  const shared = { makers: { provider }, media: createMedia(), settings: { abandonAfterMs: 300 } }
  const nodes = [await startStudio(t, one, shared), await startStudio(t, other, shared)]
  const named = { 'idempotency-key': 'mine' }
  const stays = nodes[0]!.ask({}, named)
  await until(async () => (await jobsIn(one))[0]?.state === 'queued')
  const gone = new AbortController()
  const leaves = nodes[1]!.ask({}, named, gone.signal).catch(() => null)
  await until(() => nodes[1]!.service.longPolls === 1)
  gone.abort()
  await leaves
  await until(() => nodes[1]!.service.longPolls === 0)
  await new Promise(resolve => setTimeout(resolve, 900))
  t.strictSame(provider.cancels, [])
  provider.finish(`video-${provider.submits[0]?.submitKey}`)
  t.equal((await stays).status, 200)
  await checkBooks(t, one)
})

forEachEngine(t, 'the name of a job that was abandoned or cancelled is free at once', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const provider = createProvider({ cancels: true })
  const shared = { makers: { provider }, media: createMedia(), settings: { abandonAfterMs: 100 } }
  const nodes = [await startStudio(t, one, shared), await startStudio(t, other, shared)]
  const named = { 'idempotency-key': 'mine' }
  const gone = new AbortController()
  const left = nodes[0]!.ask({}, named, gone.signal).catch(() => null)
  await until(async () => (await jobsIn(one))[0]?.state === 'queued')
  gone.abort()
  await left
  await until(async () => (await jobsIn(one))[0]?.state === 'cancelled')
  const back = nodes[1]!.ask({}, named)
  await until(() => provider.submits.length === 2)
  await one.run('update job set cancel = 1 where finished_at is null')
  const answer = await back
  t.match([answer.status, answer.body.error.code], [409, 'job_cancelled'])
  const again = nodes[0]!.ask({}, named)
  await until(() => provider.submits.length === 3)
  provider.finish(`video-${provider.submits[2]?.submitKey}`)
  t.equal((await again).status, 200)
  await checkBooks(t, one)
})

forEachEngine(t, 'a job that its API cannot cancel goes on without a client, and is charged', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider({ cancels: 'others' })
  const settings = { abandonAfterMs: 50 }
  const { ask, ledger } = await startStudio(t, store, { makers: { provider }, settings })
  const gone = new AbortController()
  const left = ask({}, {}, gone.signal).catch(() => null)
  await until(async () => (await jobsIn(store))[0]?.state === 'queued')
  gone.abort()
  await left
  const polls = provider.polls
  await until(() => provider.polls > polls + 20)
  t.equal((await jobsIn(store))[0]?.state, 'queued')
  provider.finish(`video-${provider.submits[0]?.submitKey}`)
  await until(async () => (await jobsIn(store))[0]?.state === 'succeeded')
  t.strictSame(provider.cancels, [])
  const { heldNano, spentNano } = await ledger.balance('paying')
  t.equal(heldNano, 0)
  t.ok(spentNano > 0)
  await checkBooks(t, store)
})
