import fc from 'fast-check'
import t from 'tap'
import { bodyHashOf, joinableJobs, joinMs } from '../../../services/videos/dedupe.ts'
import { createDatabase, forEachEngine } from '../../engines.ts'
import { createProvider, moderated } from './provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio, until } from './studio.ts'
import type { JobTask } from '../../../services/providers/provider-video.ts'

const message = (content: string) => ({ messages: [{ role: 'user' as const, content }] })

forEachEngine(t, 'a client that comes back joins its job, running or finished', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  const shared = { makers: { provider }, media: createMedia() }
  const { ask, close } = await startStudio(t, store, shared)
  const gone = new AbortController()
  const submitted = provider.nextSubmit()
  const first = ask({}, {}, gone.signal)
  const handle = await submitted
  gone.abort()
  await t.rejects(first)
  await until(async () => (await jobsIn(store))[0]?.waiter === null)

  const second = new AbortController()
  const back = ask({}, {}, second.signal)
  await until(async () => (await jobsIn(store))[0]?.waiter !== null)
  second.abort()
  await t.rejects(back)
  await until(async () => (await jobsIn(store))[0]?.waiter === null)
  provider.finish(handle)
  await until(async () => (await jobsIn(store))[0]?.state === 'succeeded')
  t.equal((await ask()).status, 200, 'what was finished meanwhile is there at once')
  await until(async () => (await jobsIn(store))[0]?.delivered === true)
  t.equal(provider.submits.length, 1)

  const again = provider.nextSubmit()
  const third = ask()
  provider.finish(await again)
  t.equal((await third).status, 200)
  t.equal(provider.submits.length, 2, 'who has had his video and asks again wants another one')
  t.equal((await ask({}, { 'x-stainless-retry-count': '1' })).status, 200)
  t.equal(provider.submits.length, 2, 'unless he says that it has not reached him')

  // A node records what it has delivered before it closes, but some time after the client has it.
  await close()
  const { ask: askLater } = await startStudio(t, store, shared)
  const dayMs = 86_400_000
  await store.run('update job set created_at = created_at - $1, delivered = 0', [dayMs - 60_000])
  t.equal((await askLater()).status, 200)
  t.equal((await askLater()).status, 200)
  t.equal(provider.submits.length, 2, 'what nobody has had is kept for a day')
  await store.run('update job set expires_at = $1, delivered = 0', [Date.now()])
  const fourth = provider.nextSubmit()
  const anew = askLater()
  provider.finish(await fourth)
  t.equal((await anew).status, 200)
  t.equal(provider.submits.length, 3, 'and no longer')
  await checkBooks(t, store)
})

forEachEngine(t, 'two that are wanted at once stay two, a counted retry joins whoever waits', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const two = [ask(), ask()]
  await until(() => provider.submits.length === 2)
  const retry = ask({}, { 'x-stainless-retry-count': '1' })
  await until(() => provider.polls > 4)
  for (const { submitKey } of provider.submits) provider.finish(`video-${submitKey}`)
  const answers = await Promise.all([...two, retry])
  t.strictSame(answers.map(({ status }) => status), [200, 200, 200])
  t.equal(new Set(answers.slice(0, 2).map(({ headers }) => headers['x-tollgate-job-id'])).size, 2)
  t.equal(provider.submits.length, 2)
  await checkBooks(t, store)
})

forEachEngine(t, 'one key is one job, however often and from however many nodes it is sent', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const provider = createProvider()
  const shared = { makers: { provider }, media: createMedia() }
  const nodes = [await startStudio(t, one, shared), await startStudio(t, other, shared)]
  const asked = Array.from({ length: 12 }, (_, index) => nodes[index % 2]!.ask({}, { 'idempotency-key': 'mine' }))
  await until(() => provider.submits.length === 1)
  const wrong = await nodes[1]!.ask(message('something else'), { 'idempotency-key': 'mine' })
  t.match([wrong.status, wrong.body.error.code], [422, 'idempotency_key_reused'])
  provider.finish(`video-${provider.submits[0]?.submitKey}`)
  const answers = await Promise.all(asked)
  t.strictSame(new Set(answers.map(({ status, body }) => body.error ?? status)), new Set([200]))
  t.equal(new Set(answers.map(({ headers }) => headers['x-tollgate-job-id'])).size, 1)
  t.equal((await nodes[0]!.ask({}, { 'idempotency-key': 'mine' })).status, 200, 'also when it is all over')
  t.equal(provider.submits.length, 1)

  const held = provider.nextSubmit()
  const anew = nodes[0]!.ask({}, { 'idempotency-key': 'other' })
  provider.finish(await held)
  t.equal((await anew).status, 200)
  await one.run('update job set expires_at = 1 where dedupe = $1', ['other'])
  const later = provider.nextSubmit()
  const reused = nodes[0]!.ask(message('a day later'), { 'idempotency-key': 'other' })
  provider.finish(await later)
  t.equal((await reused).status, 200, 'a key may be used again after its time')
  await checkBooks(t, one)
})

t.test('a failure under a key stays the same; without one it may be tried again', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  provider.submitErrors.push(moderated())
  const same = { 'idempotency-key': 'k' }
  for (const { status, headers } of [await ask({}, same), await ask({}, same)]) {
    t.match([status, headers['x-should-retry']], [400, 'false'])
  }
  const submitted = provider.nextSubmit()
  const asked = ask()
  provider.finish(await submitted)
  t.equal((await asked).status, 200)
})

t.test('which jobs a request may join', t => fc.assert(fc.property(
  fc.array(fc.record({
    id: fc.uuid(),
    createdAt: fc.integer({ min: 0, max: 4_000_000 }),
    delivered: fc.boolean(),
    awaited: fc.boolean(),
    finishedAt: fc.constant(null),
    state: fc.constantFrom('running', 'succeeded'),
    expiresAt: fc.option(fc.integer({ min: 3_000_000, max: 5_000_000 })),
    bodyHash: fc.constantFrom('same', 'other')
  }), { maxLength: 8 }),
  fc.integer({ min: 0, max: 2 }),
  (jobs, retryCount) => {
    const nowMs = 4_000_000
    const found = joinableJobs(jobs, { key: null, retryCount, bodyHash: 'same' }, nowMs, ({ awaited }) => awaited)
    const limitMs = retryCount > 0 ? joinMs.retry : joinMs.silent
    const isKept = ({ state, expiresAt }: typeof jobs[number]): boolean =>
      state === 'succeeded' && expiresAt !== null && nowMs < expiresAt
    const isRecent = ({ createdAt }: typeof jobs[number]): boolean => nowMs - createdAt < limitMs
    for (const job of found) {
      t.notOk(job.delivered)
      t.equal(job.bodyHash, 'same')
      t.ok(isRecent(job) || isKept(job))
      if (retryCount === 0) t.notOk(job.awaited, 'nobody is robbed of his video')
    }
    const turnOf = (job: typeof jobs[number]): number => !isRecent(job) ? 2 : job.awaited ? 1 : 0
    const turns = found.map(turnOf)
    t.strictSame(turns, turns.toSorted(), 'those left alone go first, and old ones last')
    const wanted = jobs.filter(job => !job.delivered && job.bodyHash === 'same' &&
      (isRecent(job) ? retryCount > 0 || !job.awaited : isKept(job) && !job.awaited))
    t.equal(found.length, wanted.length)
  }), { numRuns: 200 }) ?? Promise.resolve())

const task: JobTask = {
  prompt: 'a', seconds: 4, size: { width: 1280, height: 720 }, isSizeAsked: false, aspectRatio: null, seed: null, audio: false, firstFrame: null, lastFrame: null
}

t.test('every field of a task makes another body, and their order none', async t => {
  const hash = bodyHashOf('film', task)
  t.equal(bodyHashOf('film', Object.fromEntries(Object.entries(task).reverse()) as unknown as JobTask), hash)
  const others: Partial<JobTask>[] = [
    { prompt: 'b' }, { seconds: 5 }, { size: { width: 4, height: 2 } }, { aspectRatio: '1:1' }, { seed: 4 }, { audio: true }, { isSizeAsked: true },
    { firstFrame: 'https://x/a.png' }, { lastFrame: 'https://x/a.png' }, { prompt: 'a\nseconds' }
  ]
  const hashes = new Set([hash, bodyHashOf('other', task), ...others.map(more => bodyHashOf('film', { ...task, ...more }))])
  t.equal(hashes.size, others.length + 2)
})

/** A client: what it asks for, whether its connection breaks once, and whether it then counts its retry. */
const clientArbitrary = fc.record({
  prompt: fc.constantFrom('one', 'two'), breaks: fc.boolean(), counts: fc.boolean(), key: fc.boolean()
})

forEachEngine(t, 'as many videos as clients, whichever of them break off and come back', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  let run = 0
  const arbitrary = fc.array(clientArbitrary, { minLength: 1, maxLength: 6 })
  await fc.assert(fc.asyncProperty(arbitrary, async clients => {
    const [before, id] = [provider.submits.length, run++]
    const send = ({ prompt, key }: typeof clients[number], index: number, more = {}, signal?: AbortSignal) =>
      ask(message(`${id} ${prompt}`), { ...key ? { 'idempotency-key': `${id}-${index}` } : {}, ...more }, signal)
    const controllers = clients.map(() => new AbortController())
    const first = clients.map((client, index) =>
      send(client, index, {}, controllers[index]?.signal).catch(() => null))
    await until(() => provider.submits.length === before + clients.length)
    clients.forEach(({ breaks }, index) => { if (breaks) controllers[index]?.abort() })
    const broken = clients.filter(({ breaks }) => breaks).length
    const left = async () =>
      (await jobsIn(store)).filter(({ waiter, delivered }) => waiter === null && !delivered)
    await until(async () => (await left()).length === broken)
    const second = clients.map((client, index) => client.breaks
      ? send(client, index, client.counts ? { 'x-stainless-retry-count': '1' } : {})
      : first[index])
    await until(async () => (await left()).length === 0)
    for (const { submitKey } of provider.submits.slice(before)) provider.finish(`video-${submitKey}`)
    const answers = await Promise.all(second)
    t.ok(answers.every(answer => answer?.status === 200))
    t.equal(provider.submits.length - before, clients.length, 'as many videos as clients')
    t.equal(new Set(answers.map(answer => answer?.headers['x-tollgate-job-id'])).size, clients.length, 'each another one')
    await until(async () => (await jobsIn(store)).every(({ delivered }) => delivered))
  }), { numRuns: 8, endOnFailure: true })
  await checkBooks(t, store)
})
