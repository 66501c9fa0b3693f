import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { parseConfig } from '../../services/config/read/parse.ts'
import { startGateway } from '../helpers/gateway.ts'

const openRouterModels = [
  { id: 'maker/new', pricing: { prompt: '0.000001', completion: '0.000002' } },
  { id: 'openrouter/auto', pricing: { prompt: '-1', completion: '-1' } },
  // The catalogue has a price for it, which is dearer by the token of input.
  { id: 'openai/gpt-4.1', pricing: { prompt: '0.0000005', completion: '0.00001' } },
  { id: 'maker/free', pricing: { prompt: '0', completion: '0' } }
]
const videoModels = [{ id: 'google/veo-9', supported_durations: [4, 8], pricing_skus: { duration_seconds: '0.05' } }]

async function serverWith (
  t: Test, answer: (request: IncomingMessage, response: ServerResponse) => unknown
): Promise<string> {
  const server = createServer((request, response) => {
    const body = answer(request, response)
    if (body !== undefined) response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function start (t: Test, file: string) {
  const gateway = await startGateway(t, { config: parseConfig(`environment_providers: false\n${file}`, {}) })
  await gateway.app.models.discover(AbortSignal.timeout(20_000))
  const openai = new OpenAI({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 })
  const priceOf = async (id: string): Promise<unknown> => Reflect.get(await openai.models.retrieve(id), 'pricing')
  return { gateway, openai, priceOf }
}

const messages = [{ role: 'user' as const, content: 'hello' }]
const completion = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1000, completion_tokens: 500, total_tokens: 1500 }
}

t.test('OpenRouter\'s prices are those of models that the catalogue lacks, and the dearer rate counts', async t => {
  const url = await serverWith(t, ({ url }) => {
    if (url === '/models') return { data: openRouterModels }
    return url === '/videos/models' ? { data: videoModels } : completion
  })
  const { gateway, openai, priceOf } = await start(t, `
providers: [{ id: openrouter, base_url: "${url}", api_key: x, discover: true }]
models:
  - { id: mine, provider: openrouter, model: maker/new }
  - { id: dear, provider: openrouter, model: maker/new, price: { input: 9, output: 9 } }`)
  t.match(await priceOf('openrouter/maker/new'), { input: '1', output: '2' })
  t.match(await priceOf('mine'), { input: '1', output: '2' }, 'a model of the file without a price')
  t.match(await priceOf('dear'), { input: '9', output: '9' }, 'a price of the file is never replaced')
  t.match(await priceOf('openrouter/openai/gpt-4.1'), { input: '2', output: '10' })
  t.match(await priceOf('openrouter/maker/free'), { input: '0', output: '0' })
  const { data, response } = await openai.chat.completions.create({ model: 'openrouter/maker/new', messages }).withResponse()
  t.equal(data.choices[0]?.message.content, 'Hi.')
  t.equal(response.headers.get('x-tollgate-cost'), '0.002')
  await t.rejects(openai.chat.completions.create({ model: 'openrouter/openrouter/auto', messages }),
    { status: 400, code: 'model_not_priced' })
  t.match(await openai.models.retrieve('openrouter/google/veo-9'),
    { kind: 'video', video: { seconds: [4, 8], prices: [{ second: '0.05' }] } })
  t.same(gateway.app.models.unpriced(), ['openrouter/openrouter/auto'])
})

t.test('a server without a list of video models is no error, and one that fails keeps what it stated', async t => {
  let status = 404
  const url = await serverWith(t, ({ url }, response) => {
    if (url === '/models') return { data: openRouterModels }
    response.writeHead(status).end()
    return undefined
  })
  const { gateway, priceOf } = await start(t, `providers: [{ id: openrouter, base_url: "${url}", api_key: x, discover: true }]`)
  t.match(await priceOf('openrouter/maker/new'), { input: '1' })
  status = 500
  await gateway.app.models.discover(AbortSignal.timeout(20_000))
  t.match(await priceOf('openrouter/maker/new'), { input: '1' })
  await gateway.line(line => line.msg === 'models of a provider were not listed')
})

t.test('another server\'s list sets no price', async t => {
  const url = await serverWith(t, () => ({ data: openRouterModels }))
  const { openai } = await start(t, `providers: [{ id: up, base_url: "${url}", discover: true }]`)
  await t.rejects(openai.chat.completions.create({ model: 'up/maker/free', messages }), { code: 'model_not_priced' })
})

t.test('fal\'s prices are taken for models without a choice that changes them', async t => {
  const asked = new Set<string>()
  const oneLength = 'fal-ai/kling-video/v1/standard/text-to-video'
  const url = await serverWith(t, ({ url = '' }) => {
    const ids = new URL(url, 'http://x').searchParams.get('endpoint_id')?.split(',') ?? []
    ids.forEach(id => asked.add(id))
    t.ok(ids.length <= 50)
    const price = (id: string, more: object) => ({ endpoint_id: id, unit_price: 0.04, unit: 'seconds', currency: 'USD', ...more })
    return {
      prices: [
        price(oneLength, {}), price('fal-ai/flux/dev', { unit: 'megapixels' }), price('fal-ai/veo3.1', {}),
        price('fal-ai/aura-flow', { unit: 'compute seconds' }), price('fal-ai/bagel', { currency: 'EUR' }),
        price('fal-ai/flux/schnell', { unit: 'megapixels', unit_price: 0.001 })
      ]
    }
  })
  const { gateway } = await start(t, `providers: [{ id: fal, base_url: "${url}", api_key: x, discover: true }]`)
  const model = (name: string) => gateway.app.models.resolve(`fal/${name}`)?.model
  t.ok(asked.size > 100, `${asked.size}`)
  t.match(model(oneLength)?.video?.prices, [{ size: null, secondNano: 40_000_000 }])
  t.match(model('fal-ai/flux/dev')?.images?.prices, [{ imageNano: 40_000_000, furtherMegapixelNano: 25_000_000 }], 'the dearer one')
  t.match(model('fal-ai/flux/schnell')?.images?.prices, [{ imageNano: 3_000_000 }])
  t.same(model('fal-ai/veo3.1')?.video?.prices ?? [], [], 'its resolution and sound change its price')
  t.notOk(asked.has('fal-ai/veo3.1'))
  t.equal(model('fal-ai/aura-flow')?.price, null)
  t.equal(model('fal-ai/bagel')?.price, null)
})
