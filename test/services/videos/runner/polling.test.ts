import t from 'tap'
import { createDatabase } from '../../../helpers/engines.ts'
import { busy, createProvider } from '../provider.ts'
import { addKey, openAccount, startStudio, type StudioOptions } from '../studio.ts'
import { until } from '../../../helpers/until.ts'

async function start (t: Parameters<typeof startStudio>[0], settings: NonNullable<StudioOptions['settings']>) {
  const store = await (await createDatabase(t, 'sqlite')).open()
  await openAccount(store)
  await openAccount(store, 'other', 'other key')
  await addKey(store, 'paying', 'second key')
  const provider = createProvider()
  const polled: { handle: string, atMs: number }[] = []
  const { poll } = provider
  provider.poll = async (handle, signal) => {
    polled.push({ handle, atMs: performance.now() })
    return await poll(handle, signal)
  }
  const { ask } = await startStudio(t, store, { makers: { provider }, settings })
  let count = 0
  const order = async (headers: Record<string, string> = {}) => {
    const submitted = provider.nextSubmit()
    const answer = ask({ messages: [{ role: 'user', content: `video ${count++}` }] }, headers)
    return { handle: await submitted, answer }
  }
  return { provider, polled, order }
}

t.test('the jobs of one account do not delay those of another, nor those of one key those of another', async t => {
  const { provider, polled, order } = await start(t, { pollsPerSecond: 100 })
  const flood: Awaited<ReturnType<typeof order>>[] = []
  for (let count = 0; count < 40; count++) flood.push(await order())
  const others = [await order({ 'x-account': 'other', 'x-key': 'other key' }), await order({ 'x-key': 'second key' })]
  const from = polled.length
  const rounds = 120
  await until(() => polled.length >= from + rounds)
  const polls = polled.slice(from, from + rounds).map(({ handle }) => handle)
  // They are due after at most 22 ms, in which two others are polled.
  for (const { handle } of others) t.ok(polls.filter(one => one === handle).length >= rounds / 8)
  const floods = flood.map(({ handle }) => polls.filter(one => one === handle).length)
  t.ok(Math.max(...floods) - Math.min(...floods) <= 1, `its own jobs are polled in turn: ${floods}`)
  for (const { handle } of [...flood, ...others]) provider.finish(handle)
  await Promise.all([...flood, ...others].map(({ answer }) => answer))
})

t.test('a provider that answers 429 is polled less often', async t => {
  const { provider, polled, order } = await start(t, { pollsPerSecond: 4 })
  provider.pollErrors.push(busy())
  const { handle, answer } = await order()
  await until(() => polled.length >= 5)
  const times = polled.map(({ atMs }) => atMs)
  // 500 ms each, no longer 250.
  t.ok((times[4] ?? 0) - (times[1] ?? 0) >= 1200, `half as often: ${times}`)
  provider.finish(handle)
  t.equal((await answer).status, 200)
})
