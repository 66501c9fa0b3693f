import fc from 'fast-check'
import { request } from 'undici'
import t, { type Test } from 'tap'
import type { GatewayConfig, ModelConfig } from '../../services/config/catalogue/types.ts'
import { usageDefaults } from '../../services/config/defaults.ts'
import { forEachEngine, type Database } from '../helpers/engines.ts'
import { configFor, providerAt, startGateway } from '../helpers/gateway.ts'
import { picture, startImageServer } from '../servers/image-server.ts'
import { reply, startUpstream, type Completion } from '../servers/upstream.ts'

const adminKey = 'operator-key-of-this-test'
const rates = { cacheReadPico: null, cacheWritePico: null, imageNano: null, secondNano: null }
/** 1000 nano-USD per token of the prompt, 4000 per token of the answer; the operator pays half of that. */
const price = { ...rates, inputPico: 1_000_000, outputPico: 4_000_000 }
const cost = { ...rates, inputPico: 500_000, outputPico: 2_000_000 }
const free = { ...rates, inputPico: 0, outputPico: 0 }
/** The default answer of the upstream: 8 tokens of the prompt, 377 of the completion. */
const saleNano = 8 * 1000 + 377 * 4000
const messages = [{ role: 'user', content: 'Hello, world!' }]

interface ShopOptions { models?: Partial<ModelConfig>[], dialect?: string, database?: Database }

/** A gateway that keeps the tags project and team, and requests to it. */
async function openShop (t: Test, { models = [{ price }], dialect = 'openrouter', database }: ShopOptions = {}) {
  const upstream = await startUpstream()
  t.teardown(() => upstream.close().catch(() => {}))
  const base = configFor(providerAt(upstream.url, { dialect }))
  const config: GatewayConfig = {
    ...base,
    models: models.flatMap(more => configFor(providerAt(upstream.url), { maxOutput: 1000, ...more }).models),
    usage: { ...usageDefaults, tags: ['team', 'project'] }
  }
  const env = {
    TOLLGATE_STARTING_CREDIT: '1',
    TOLLGATE_ADMIN_KEY: adminKey,
    ...(database !== undefined && { DATABASE_URL: database.url })
  }
  const gateway = await startGateway(t, { config, env })
  const admin = gateway.url.replace(/\/v1$/, '')
  return {
    gateway,
    upstream,
    async post (body: object = {}, headers: Record<string, string> = {}) {
      const answer = await request(`${gateway.url}/chat/completions`, {
        method: 'POST',
        headers: { ...gateway.headers, ...headers },
        body: JSON.stringify({ model: 'chat', messages, ...body })
      })
      return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() }
    },
    // What the answer is like, the test says.
    async ask (path: string): Promise<{ data: Record<string, unknown>[] }> {
      const answer = await request(`${admin}/admin${path}`, { headers: { authorization: `Bearer ${adminKey}` } })
      return await answer.body.json() as { data: Record<string, unknown>[] }
    },
    async metric (name: string) {
      const answer = await request(`${admin}/metrics`, { headers: { authorization: `Bearer ${adminKey}` } })
      return (await answer.body.text()).split('\n').filter(line => line.includes(name) && !line.startsWith('#'))
    }
  }
}

/** The default answer with further fields in its usage. */
function withUsage (fields: object) {
  const edit = (body: Completion): Completion =>
    body.usage == null ? body : { ...body, usage: { ...body.usage, ...fields } }
  return reply({}, { completion: edit, chunks: chunks => chunks.map(edit) })
}

forEachEngine(t, 'free requests show in the reports, whole and streamed', async (t, database) => {
  const { gateway, post, ask } = await openShop(t, { models: [{ price: free }], database })
  t.match(await post(), { status: 200, headers: { 'x-tollgate-cost': '0' } })
  t.match(await post({ stream: true }), { status: 200 })
  t.match((await ask('/usage?by=provider,model')).data, [{
    provider: 'up', model: 'chat', requests: 2, prompt_tokens: 16, completion_tokens: 754, cost_nano: 0
  }])
  t.match((await ask('/entries?kind=usage')).data, [
    { amount_nano: 0, provider: 'up', usage: { prompt: 8, completion: 377 } },
    { amount_nano: 0, provider: 'up', usage: { prompt: 8, completion: 377 } }
  ])
  const holds = "select id from hold where kind = 'node' and amount > 0"
  t.same(await gateway.app.store.all(holds), [], 'no money was held')
})

forEachEngine(t, 'tags come from metadata or the header, and only those of the operator are kept', async (t, database) => {
  const { post, ask } = await openShop(t, { database })
  await post({ metadata: { project: 'alpha', user: 'u1' } })
  await post({ metadata: { project: 'alpha' }, stream: true })
  await post({ metadata: { project: 'alpha' } }, { 'x-tollgate-tags': 'project=beta, team=a%20b' })
  await post({ metadata: { other: 'x' } })
  const { data } = await ask('/usage?by=tag:project,tag:team')
  t.match(data, [
    { tags: { project: '', team: '' }, requests: 1 },
    { tags: { project: 'alpha', team: '' }, requests: 2, cost_nano: 2 * saleNano },
    { tags: { project: 'beta', team: 'a b' }, requests: 1 }
  ])
  t.match((await ask('/usage?by=tag:user')).data, [{ tags: { user: '' }, requests: 4 }])
  t.match((await ask('/entries?kind=usage')).data.map(({ tags }) => tags), [
    null, { project: 'beta', team: 'a b' }, { project: 'alpha' }, { project: 'alpha' }
  ])
})

t.test('images are tagged by the header', async t => {
  const image = await picture(64, 64)
  const server = await startImageServer(t, () => ({ json: { data: [{ b64_json: image.toString('base64') }] } }))
  const config = configFor(providerAt(server.url), {
    id: 'picture', kind: 'image', price: { ...free, imageNano: 100 }, cost: { ...free, imageNano: 30 }
  })
  const gateway = await startGateway(t, {
    config: { ...config, usage: { ...usageDefaults, tags: ['project'] } }, env: { TOLLGATE_STARTING_CREDIT: '1' }
  })
  const answer = await request(`${gateway.url}/images/generations`, {
    method: 'POST',
    headers: { ...gateway.headers, 'x-tollgate-tags': 'project=art' },
    body: JSON.stringify({ model: 'picture', prompt: 'A fox' })
  })
  t.equal(answer.statusCode, 200, await answer.body.text())
  await gateway.app.ledger.flush()
  t.match(await gateway.app.store.all("select amount, usage from entry where kind = 'usage'"), [
    { amount: 100, usage: '{"images":1,"cost":30,"tags":{"project":"art"}}' }
  ])
})

forEachEngine(t, 'the cost price and a reported cost stand beside the charge', async (t, database) => {
  const { gateway, upstream, post, ask, metric } = await openShop(t, {
    models: [{ price, cost }, { id: 'as-reported', price }], database
  })
  const half = saleNano / 2
  upstream.script(withUsage({ cost: half / 1e9 }))
  await post()
  for (let times = 0; times < 2; times++) {
    upstream.script(withUsage({ cost: 2 * half / 1e9 }))
    await post({ stream: true })
  }
  upstream.script(withUsage({ cost: 0.7 * saleNano / 1e9 }))
  await post({ model: 'as-reported' })
  t.match((await ask('/usage?by=model')).data, [
    { model: 'as-reported', cost_nano: saleNano, provider_cost_nano: 0.7 * saleNano, margin_nano: saleNano - 0.7 * saleNano },
    { model: 'chat', cost_nano: 3 * saleNano, costed_requests: 3, provider_cost_nano: 3 * half, margin_nano: 3 * half }
  ])
  const warnings = gateway.lines.filter(({ msg }) => msg === 'a provider reports another cost than expected')
  t.match(warnings, [{ model: 'chat', provider: 'up' }, { model: 'as-reported' }], 'once per model')
  t.match(await metric('provider_cost_mismatch_total'), [/provider="up",model="chat"\} 2/, /model="as-reported"\} 1/])
})

t.test('the cost of a provider that reports nothing is its cost price', async t => {
  const { post, ask } = await openShop(t, { models: [{ price, cost }], dialect: 'compatible' })
  await post()
  t.match((await ask('/usage?by=model')).data, [{ provider_cost_nano: saleNano / 2, margin_nano: saleNano / 2 }])
})

t.test('whatever a provider reports as the cost, the answer is delivered, charged and reported', async t => {
  const { gateway, upstream, post, ask } = await openShop(t, { models: [{ price, cost }] })
  const anything = fc.record({
    cost: fc.oneof(fc.jsonValue(), fc.double(), fc.constantFrom(-1, 2 ** 32 - 1, 1e300, '1', 9e15, 9_007_199)),
    is_byok: fc.oneof(fc.boolean(), fc.jsonValue()),
    cost_details: fc.oneof(fc.jsonValue(), fc.record({ upstream_inference_cost: fc.jsonValue() }))
  })
  let requests = 0
  await fc.assert(fc.asyncProperty(anything, fc.boolean(), async (fields, stream) => {
    upstream.script(withUsage(fields))
    const { status } = await post({ stream })
    requests++
    const { data: [usage] } = await ask('/usage?by=model')
    return status === 200 && usage?.requests === requests && usage.cost_nano === requests * saleNano
  }), { numRuns: 60 })
  await gateway.app.ledger.flush()
  t.match(await gateway.app.store.get('select spent, held from account'), { spent: requests * saleNano })
})
