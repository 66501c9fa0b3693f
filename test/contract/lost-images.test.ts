import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { emptyPrice } from '../../services/config/catalogue/models.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { picture, startImageServer } from '../servers/image-server.ts'
import { startFaultyS3, type S3Mood } from '../services/media/faulty-s3.ts'
import { images } from './image-shop.ts'
import { runningMs } from '../helpers/running-time.ts'
import { until } from '../helpers/until.ts'

process.env['AWS_ACCESS_KEY_ID'] = 'S3RVER'
process.env['AWS_SECRET_ACCESS_KEY'] = 'S3RVER'

const adminKey = 'an-admin-key-for-tests-only'

/** A gateway with a bucket, and a provider whose images are at addresses that answer as `status` says. */
async function openTest (t: Test, mood: S3Mood, status: () => number = () => 200) {
  const s3 = await startFaultyS3(t, mood)
  const bytes = await picture(64, 64)
  const provider = await startImageServer(t, ({ path }, url) => path.startsWith('/file')
    ? { status: status(), bytes }
    : { json: { created: 1, data: [{ url: `${url}/file.png` }] } })
  const model = { id: 'picture', kind: 'image' as const, price: emptyPrice, images }
  const gateway = await startGateway(t, {
    config: configFor(providerAt(provider.url), model),
    env: { TOLLGATE_STARTING_CREDIT: '1', TOLLGATE_ADMIN_KEY: adminKey, TOLLGATE_MEDIA: `s3://media?endpoint=${s3.endpoint}` }
  })
  const client = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const { store, ledger } = gateway.app
  return {
    s3,
    provider,
    gateway,
    make: async (headers: Record<string, string> = {}, signal?: AbortSignal) =>
      await client.images.generate({ model: 'picture', prompt: 'a fox' }, { headers, signal }),
    money: async () => {
      await ledger.flush()
      const entries = await store.all("select kind, amount, reason from entry where kind in ('usage', 'suspense') order by seq")
      const { spentNano, heldNano } = await ledger.balance('default')
      return { entries, spentNano, heldNano }
    },
    failures: async (fault: 'media_store' | 'provider') => {
      const { body } = await gateway.app.inject({ url: '/metrics', headers: { authorization: `Bearer ${adminKey}` } })
      const lines = body.split('\n').filter(line => line.startsWith('tollgate_media_copy_failures_total{'))
      const line = lines.find(one => one.includes('"image"') && one.includes(`"${fault}"`))
      return Number(line?.split(' ').at(-1))
    }
  }
}

const lost = { entries: [{ kind: 'suspense', amount: 10_000_000, reason: 'unverified' }], spentNano: 0, heldNano: 0 }

for (const status of [404, 410, 403] as const) {
  t.test(`an image whose address answers ${status} is not charged, and is in suspense`, async t => {
    const { make, money, provider, failures } = await openTest(t, 'discards', () => status)
    await t.rejects(make(), { status: 502, code: 'upstream_bad_reply' })
    t.equal(provider.seen.filter(({ path }) => path === '/file.png').length, 3)
    t.match(await money(), lost)
    t.equal(await failures('provider'), 3)
  })
}

t.test('an address that is overloaded for a moment is fetched again', async t => {
  const statuses = [503, 429, 500]
  const { make, money } = await openTest(t, 'discards', () => statuses.shift() ?? 200)
  t.equal((await make()).data?.length, 1)
  t.match(await money(), { entries: [{ kind: 'usage', amount: 10_000_000 }], spentNano: 10_000_000, heldNano: 0 })
})

for (const mood of [403, 500, 'drops'] as const) {
  t.test(`an image waits for a bucket that is ${mood}; it is fetched and charged once`, async t => {
    const { s3, make, money, provider, failures } = await openTest(t, mood)
    const made = make()
    await until(async () => await failures('media_store') > 0)
    t.match(await money(), { entries: [], spentNano: 0 }, 'nothing is charged before it is stored')
    s3.mood = 'discards'
    t.equal((await made).data?.length, 1)
    t.equal(provider.seen.filter(({ path }) => path === '/file.png').length, 1)
    t.match(await money(), { entries: [{ kind: 'usage', amount: 10_000_000 }], spentNano: 10_000_000, heldNano: 0 })
  })
}

t.test('at the deadline, with a silent bucket, nothing is charged and the image is in suspense', async t => {
  const { make, money } = await openTest(t, 'silent')
  await t.rejects(make({ 'x-tollgate-deadline-ms': '1500' }), { status: 504, code: 'deadline_exceeded' })
  await until(async () => (await money()).entries.length > 0)
  t.match(await money(), lost)
})

t.test('a client that leaves while the bucket fails finds the image later, charged once', async t => {
  const { s3, make, money, failures, provider } = await openTest(t, 403)
  const leaving = new AbortController()
  const name = { 'Idempotency-Key': 'fox' }
  const failed = t.rejects(make(name, leaving.signal))
  await until(async () => await failures('media_store') > 0)
  leaving.abort()
  await failed
  s3.mood = 'discards'
  t.equal((await make(name)).data?.length, 1)
  t.equal(provider.seen.length, 2, 'one generation, one download')
  t.match(await money(), { entries: [{ kind: 'usage', amount: 10_000_000 }], spentNano: 10_000_000, heldNano: 0 })
})

t.test('a gateway with a silent bucket closes within its drain time', async t => {
  const { s3, make, gateway, money } = await openTest(t, 'silent')
  const failed = t.rejects(make())
  await until(() => s3.received > 0)
  const startMs = runningMs()
  const before = await money()
  t.same(before.entries, [])
  await Promise.all([gateway.app.images.close(), failed])
  t.ok(runningMs() - startMs < 5_000)
})
