import sharp from 'sharp'
import t from 'tap'
import { request } from 'undici'
import { breakerDefaults } from '../../services/config/defaults.ts'
import { createDatabase } from '../helpers/engines.ts'
import { providerAt } from '../helpers/gateway.ts'
import { pastDeadline } from '../helpers/timeouts.ts'
import { startImageServer, type Reply } from '../servers/image-server.ts'
import { billing, images, made, openShop, pairOf, perImage, png, post, untilAllHaveLeft, type Shop } from './image-shop.ts'
import { emptyPrice } from '../../services/config/catalogue/models.ts'
import { until } from '../helpers/until.ts'

t.test('a partial answer is delivered, and only its images are charged', async t => {
  const shop = await openShop(t, ({ path }, url) => {
    if (path.startsWith('/bad')) return { bytes: Buffer.from('<html></html>') }
    if (path.startsWith('/good')) return { bytes: png }
    const names = ['good1', 'bad', 'good2']
    return { json: { data: names.map(name => ({ url: `${url}/${name}.png`, revised_prompt: name })) } }
  })
  const { status, headers, body } = await post(shop, { n: 3 })
  t.equal(status, 200)
  t.same(body.data.map(({ revised_prompt: prompt }) => prompt), ['good1', 'good2'])
  t.equal(headers['x-tollgate-cost'], '0.02')
  t.notMatch(JSON.stringify(shop.server.seen.slice(1)), 'sk-upstream-secret', 'no key goes with a download')
  const image = await request(body.data[0]?.url ?? '')
  t.match(await sharp(await image.body.arrayBuffer()).metadata(), { width: 64, height: 64 })
})

t.test('images are converted for a provider with other ratios or formats', async t => {
  const shop = await openShop(t, () => made())
  const { body } = await post(shop, { size: '96x64', output_format: 'webp' })
  const image = await request(body.data[0]?.url ?? '')
  t.equal(image.headers['content-type'], 'image/webp')
  t.match(await sharp(await image.body.arrayBuffer()).metadata(), { width: 96, height: 64, format: 'webp' })
})

t.test('a model of the name gpt-image answers with bytes beside the URL, because OpenAI answers with them alone', async t => {
  for (const [id, form, has] of [
    ['gpt-image-2', undefined, ['b64_json', 'url']], ['openai/chatgpt-image-latest', undefined, ['b64_json', 'url']],
    ['gpt-image-2', 'url', ['url']], ['gpt-image-2', 'b64_json', ['b64_json']], ['picture', undefined, ['url']]
  ] as const) {
    const shop = await openShop(t, () => made(), { model: { ...perImage, id } })
    const { status, body } = await post(shop, { model: id, response_format: form })
    t.equal(status, 200)
    const { revised_prompt: _, ...image } = body.data[0] ?? {}
    t.same(Object.keys(image).sort(), has, `${id}, ${form}`)
  }
})

t.test('an account without money gets 402 before the provider is called', async t => {
  const dear = { ...images, prices: [] }
  const shop = await openShop(t, ({ body }) => made(Number(body.n)),
    { model: { ...perImage, images: dear, price: { ...emptyPrice, imageNano: 150_000_000 } } })
  t.match(await post(shop, { n: 10 }), { status: 402, body: { error: { code: 'insufficient_quota' } } })
  t.equal(shop.server.seen.length, 0)
  t.equal((await post(shop, { n: 6 })).status, 200)
  t.equal((await post(shop)).status, 402)
  t.match(await billing(shop), { total_spent: 0.9, held: 0 })
})

t.test('a model without a price is refused', async t => {
  const shop = await openShop(t, () => made(), { model: { kind: 'image', price: null } })
  t.match(await post(shop), { status: 400, body: { error: { code: 'model_not_priced', param: 'model' } } })
})

t.test('a closing gateway aborts generations without a client and releases their holds', async t => {
  const database = await createDatabase(t, 'sqlite')
  const shop = await openShop(t, () => ({ hang: true }), { database })
  const leaving = new AbortController()
  const posting = post(shop, {}, leaving.signal)
  await shop.server.next()
  leaving.abort()
  await t.rejects(posting)
  await untilAllHaveLeft(shop)
  await shop.gateway.app.close()
  await shop.server.hungUp
  const store = await database.open()
  t.same(await store.all('select sum(held) as held, sum(spent) as spent from account'), [{ held: 0, spent: 0 }])
})

t.test('another deployment is tried if the first one made nothing', async t => {
  const other = await startImageServer(t, () => made())
  const replies: Reply[] = [{ status: 401, json: {} }, { status: 400, json: {} }, { status: 429, json: {} }]
  const shop = await openShop(t, () => replies.shift() ?? made(), {
    config: config => ({
      ...config,
      providers: [...config.providers, providerAt(other.url, { id: 'second' })],
      models: config.models.map(model => ({
        ...model,
        deployments: [...model.deployments, { provider: 'second', model: 'other', weight: 1, priority: 1 }]
      }))
    })
  })
  const fromOther = { status: 200, headers: { 'x-tollgate-provider': 'second', 'x-tollgate-upstream-model': 'other' } }
  t.match(await post(shop), fromOther, 'after 401')
  t.equal((await post(shop)).status, 400, 'a request that is wrong is wrong everywhere')
  t.match(await post(shop), fromOther, 'after 429')
  t.match(await post(shop), fromOther, 'while the first one rests')
  t.equal(shop.server.seen.length, 3)
  t.match(await billing(shop), { total_spent: 0.03, held: 0 })
  const { deployments } = shop.gateway.app
  t.match(deployments.list().map(({ name }) => name.provider).sort(), ['second', 'up'])
  t.ok(deployments.expected('up', 'gpt-5-nano').errorRate > 0)
  t.equal(deployments.expected('second', 'other').errorRate, 0)
})

t.test('the circuit breaker of a failing deployment opens, and the last way to a model is still tried', async t => {
  const shop = await openShop(t, () => ({ status: 500, json: {} }), {
    config: config => ({ ...config, breaker: { ...breakerDefaults, failures: 2 } })
  })
  for (const status of [502, 502]) t.equal((await post(shop)).status, status)
  t.match(await shop.gateway.app.metrics.text(), /^tollgate_breaker_state\{provider="up",model="gpt-5-nano"\} 2$/m)
  t.equal((await post(shop)).status, 502)
  t.equal(shop.server.seen.length, 3)
  t.match(await billing(shop), { total_spent: 0, held: 0 })
})

t.test('a request that exceeds the client\'s deadline gets 504 and is free', async t => {
  const shop = await openShop(t, () => ({ hang: true }))
  const answer = await pastDeadline(pairOf(() => shop), async deadlineMs => {
    const headers = { ...shop.gateway.headers, 'x-tollgate-deadline-ms': String(deadlineMs) }
    return await post({ ...shop, gateway: { ...shop.gateway, headers } })
  })
  t.match(answer, { status: 504, body: { error: { code: 'deadline_exceeded' } } })
  await shop.server.hungUp
  t.match(await billing(shop), { total_spent: 0, held: 0 })
})

t.test('the configured deadline applies to images too, also once their client has left', async t => {
  let opened: Shop | undefined
  const shop = await pastDeadline(pairOf(() => opened), async deadlineMs => {
    opened = await openShop(t, () => ({ hang: true }), {
      config: config => ({ ...config, requests: { ...config.requests, deadlineMs } })
    })
    t.match(await post(opened), { status: 504, body: { error: { code: 'deadline_exceeded' } } })
    return opened
  })
  await shop.server.hungUp
  const leaving = new AbortController()
  const left = t.rejects(post(shop, {}, leaving.signal))
  await until(() => shop.gateway.app.running.size > 0)
  leaving.abort()
  await left
  await until(async () => (await billing(shop)).held === 0)
  t.match(await billing(shop), { total_spent: 0, held: 0 })
})

t.test('field names that are not allowed in headers are left out', async t => {
  const shop = await openShop(t, () => made(), { provider: { dialect: 'together' } })
  const odd = Object.fromEntries(['a\r\nx: y', 'ü', 'x'.repeat(10_000), 'style'].map(name => [name, 'vivid']))
  const { status, headers } = await post(shop, odd)
  t.equal(status, 200)
  t.equal(headers['x-tollgate-dropped-params'], 'style')
})
