import t from 'tap'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { createProvider } from './provider.ts'
import { checkBooks, createMedia, jobsIn, openAccount, startStudio } from './studio.ts'
import { until } from '../../helpers/until.ts'

forEachEngine(t, 'a draining node leaves its jobs to another one, and answers the clients that it holds', async (t, { open }) => {
  const [one, other] = [await open(), await open()]
  await openAccount(one)
  const [provider, media] = [createProvider(), createMedia()]
  const first = await startStudio(t, one, { makers: { provider }, media })
  const second = await startStudio(t, other, { makers: { provider }, media })
  const submitted = provider.nextSubmit()
  const asked = first.ask()
  const handle = await submitted
  await until(async () => (await jobsIn(other))[0]?.state === 'queued')
  first.service.drain()
  await until(() => first.service.running === 0 && second.service.running === 1)
  t.equal((await jobsIn(other))[0]?.owner, second.ledger.node)

  const late = provider.nextSubmit()
  const alsoAsked = first.ask({ messages: [{ role: 'user', content: 'a cube' }] })
  const lateHandle = await late
  await until(() => first.service.running === 0 && second.service.running === 2)
  t.equal(first.service.longPolls, 2, 'a request that came on an open connection is held as well')

  for (const made of [handle, lateHandle]) provider.finish(made)
  t.same([(await asked).status, (await alsoAsked).status], [200, 200])
  t.equal(provider.submits.length, 2)
  await until(async () => (await jobsIn(other)).every(({ delivered }) => delivered))
  await checkBooks(t, other)
})

forEachEngine(t, 'a draining node without another one polls its jobs itself', async (t, { open }) => {
  const store = await open()
  await openAccount(store)
  const provider = createProvider()
  const { service, ask, logged } = await startStudio(t, store, { makers: { provider } })
  const submitted = provider.nextSubmit()
  const asked = ask()
  const handle = await submitted
  await until(async () => (await jobsIn(store))[0]?.state === 'queued')
  service.drain()
  const { polls } = provider
  await until(() => provider.polls > polls + 5)
  t.equal(service.running, 1)
  provider.finish(handle)
  t.equal((await asked).status, 200)
  t.notMatch(logged, [['info', 'jobs were handed over']])
  await checkBooks(t, store)
})

t.test('jobs that no other node takes over are taken back', async t => {
  const database = await createDatabase(t, 'postgres')
  const [one, other] = [await database.open(), await database.open()]
  await openAccount(one)
  const [provider, media] = [createProvider(), createMedia()]
  const first = await startStudio(t, one, { makers: { provider }, media })
  const second = await startStudio(t, other, { makers: { provider }, media })
  const submits = [provider.nextSubmit(), provider.nextSubmit()]
  const asked = [first.ask(), second.ask({ messages: [{ role: 'user', content: 'a cube' }] })]
  const handles = await Promise.all(submits)
  await until(async () => (await jobsIn(other)).filter(({ state }) => state === 'queued').length === 2)
  // Each counts on the other.
  for (const { service } of [first, second]) service.drain()
  const messages = () => [...first.logged, ...second.logged].map(([, message]) => message)
  const wasLogged = (text: string) => messages().includes(text)
  await until(() => wasLogged('jobs were handed over') && wasLogged('no other node has taken jobs over'))
  for (const handle of handles) provider.finish(handle)
  for (const answer of await Promise.all(asked)) t.equal(answer.status, 200)
  t.equal(provider.submits.length, 2)
  await checkBooks(t, other)
})
