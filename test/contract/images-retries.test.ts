import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import t from 'tap'
import { videoDefaults } from '../../services/config/defaults.ts'
import { forEachEngine } from '../helpers/engines.ts'
import type { Reply } from '../servers/image-server.ts'
import { billing, entriesOf, made, openShop, post, type Shop } from './image-shop.ts'
import { until } from '../helpers/until.ts'

/** A gateway whose images take until `release` is called, and which heartbeats early. */
function slow () {
  const gate = Promise.withResolvers<void>()
  const reply = async (): Promise<Reply> => {
    await gate.promise
    return made()
  }
  return { release: () => gate.resolve(), reply }
}

const early = { ...videoDefaults, heartbeatAfterMs: 300, heartbeatEveryMs: 200 }

function clientOf ({ gateway: { url, key } }: Shop, more: { timeout?: number, maxRetries?: number } = {}) {
  return new OpenAI({ baseURL: url, apiKey: key, ...more })
}

const fox = { model: 'picture', prompt: 'A fox' }

const delivered = async ({ gateway: { app } }: Shop) =>
  (await app.store.all<{ delivered: number }>('select delivered from generation')).every(one => one.delivered === 1)

forEachEngine(t, 'openai-node whose timeout is shorter than the image gets it by its retries, and pays once', async (t, database) => {
  const shop = await openShop(t, async () => {
    await sleep(2_500)
    return made()
  }, { database })
  const answer = await clientOf(shop, { timeout: 1_000, maxRetries: 8 }).images.generate(fox)
  t.match(answer.data?.[0]?.url, /^http/)
  t.equal(shop.server.seen.length, 1)
  t.equal((await entriesOf(shop)).length, 1)
})

forEachEngine(t, 'what was made without its client is kept for the next such request, and charged once', async (t, database) => {
  const { release, reply } = slow()
  const shop = await openShop(t, reply, { database })
  const gone = new AbortController()
  const left = clientOf(shop).images.generate(fox, { signal: gone.signal }).catch(() => null)
  await until(() => shop.server.seen.length === 1)
  gone.abort()
  await left
  await until(() => shop.gateway.app.running.size === 0)
  release()
  await until(async () => (await entriesOf(shop)).length === 1)
  const answer = await post(shop)
  t.match([answer.status, answer.headers['x-tollgate-cost']], [200, '0.01'])
  t.equal(shop.server.seen.length, 1)
  t.equal((await entriesOf(shop)).length, 1)
  await until(async () => await delivered(shop))
  t.equal((await post(shop)).status, 200)
  t.equal(shop.server.seen.length, 2, 'once it was delivered, the same request is for another image')
})

forEachEngine(t, 'two that are wanted at once are two', async (t, database) => {
  const { release, reply } = slow()
  const shop = await openShop(t, reply, { database })
  const first = post(shop)
  await until(() => shop.server.seen.length === 1)
  const retry = clientOf(shop).images.generate(fox, { headers: { 'x-stainless-retry-count': '1' } })
  await until(() => shop.server.seen.length === 2)
  release()
  const urls = [(await first).body.data[0]?.url, (await retry).data?.[0]?.url]
  t.equal(new Set(urls).size, 2)
  t.equal((await entriesOf(shop)).length, 2)
})

forEachEngine(t, 'one Idempotency-Key is one generation, at every node, while it runs and after', async (t, database) => {
  const { release, reply } = slow()
  const one = await openShop(t, reply, { database })
  const other = await openShop(t, reply, { database })
  // Both have the key of the first one.
  Object.assign(other.gateway, { key: one.gateway.key, headers: one.gateway.headers })
  const headers = { 'Idempotency-Key': 'mine' }
  const asked = [one, other, one].map(shop => clientOf(shop).images.generate(fox, { headers }))
  await until(() => one.server.seen.length + other.server.seen.length === 1)
  const wrong = clientOf(other, { maxRetries: 0 }).images.generate({ ...fox, prompt: 'A hen' }, { headers })
  await t.rejects(wrong, { status: 422, code: 'idempotency_key_reused' })
  release()
  const answers = await Promise.all(asked)
  const media = answers.map(({ data }) => new URL(data?.[0]?.url ?? '').pathname)
  t.equal(new Set(media).size, 1)
  const again = await clientOf(other).images.generate({ ...fox, response_format: undefined }, { headers })
  t.equal(new URL(again.data?.[0]?.url ?? '').pathname, media[0])
  t.equal(one.server.seen.length + other.server.seen.length, 1)
  t.equal((await entriesOf(one)).length, 1)
  t.match(await billing(one), { balance: 0.99, held: 0 })
})

t.test('a failure frees the name, and reaches all that wait', async t => {
  let fails = true
  const { release, reply } = slow()
  const shop = await openShop(t, async () => {
    const answer = await reply()
    return fails ? { status: 400, json: { error: { message: 'no', code: 'bad' } } } : answer
  })
  const client = clientOf(shop, { maxRetries: 0 })
  const headers = { 'Idempotency-Key': 'mine' }
  const asked = [0, 1].map(() => client.images.generate(fox, { headers }).catch((error: unknown) => error))
  await until(() => shop.server.seen.length === 1)
  release()
  for (const error of await Promise.all(asked)) t.match(error, { status: 400 })
  fails = false
  t.match((await client.images.generate(fox, { headers })).data?.[0]?.url, /^http/)
})

t.test('a slow answer is kept alive by spaces; a failure after that is told in its body', async t => {
  let fails = false
  const shop = await openShop(t, async () => {
    await sleep(1_200)
    return fails ? { status: 400, json: { error: { message: 'no', code: 'bad' } } } : made()
  }, { config: config => ({ ...config, video: early }) })
  const { url, headers } = shop.gateway
  const ask = async () => await (await fetch(`${url}/images/generations`, {
    method: 'POST', headers, body: JSON.stringify(fox)
  })).text()
  t.match(await ask(), /^ {2,}\{/)
  fails = true
  const text = await ask()
  t.match(JSON.parse(text), { data: [], error: { message: String, type: String, code: 'bad' } })
  t.equal((await entriesOf(shop)).length, 1)
})
