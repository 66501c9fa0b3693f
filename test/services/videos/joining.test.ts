import fc from 'fast-check'
import t from 'tap'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { createProvider, moderated } from './provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio } from './studio.ts'
import { until } from '../../helpers/until.ts'

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
  await until(async () => (await jobsIn(store))[0]?.waiterLeftAt != null)

  const second = new AbortController()
  const back = ask({}, {}, second.signal)
  await until(async () => (await jobsIn(store))[0]?.waiterLeftAt === null)
  second.abort()
  await t.rejects(back)
  await until(async () => (await jobsIn(store))[0]?.waiterLeftAt != null)
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

forEachEngine(t, 'two that are wanted at once stay two, and a counted retry joins the one whose client has left', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  const { ask } = await startStudio(t, store, { makers: { provider } })
  const gone = new AbortController()
  const two = [ask(), ask({}, {}, gone.signal).catch(() => null)]
  await until(() => provider.submits.length === 2)
  // It comes before the gateway has noticed that the first connection is broken.
  const retry = ask({}, { 'x-stainless-retry-count': '1' })
  await new Promise(resolve => setTimeout(resolve, 300))
  const waiting = async () => (await store.all<{ id: string }>('select id from waiter')).map(({ id }) => id)
  const before = await waiting()
  gone.abort()
  await until(async () => {
    const now = await waiting()
    return now.length === 2 && now.some(id => !before.includes(id))
  })
  for (const { submitKey } of provider.submits) provider.finish(`video-${submitKey}`)
  const answers = [await two[0], await retry]
  t.strictSame(answers.map(answer => answer?.status), [200, 200])
  t.equal(new Set(answers.map(answer => answer?.headers['x-tollgate-job-id'])).size, 2)
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
      (await jobsIn(store)).filter(({ waiterLeftAt, delivered }) => waiterLeftAt !== null && !delivered)
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
