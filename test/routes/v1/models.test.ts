import t from 'tap'
import { openaiSchema } from '../../contract/openai-schemas.ts'
import { configFromEnvironment } from '../../../services/config/environment/environment.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { buildGateway, configFor, providerAt } from '../../helpers/gateway.ts'

const listError = openaiSchema('ListModelsResponse')

t.test('ids may contain slashes and colons, raw or percent-encoded', async t => {
  const id = 'meta/llama-3.1:free'
  const { app, headers } = await buildGateway(t, { config: configFor(providerAt('http://127.0.0.1:9/v1'), { id }) })
  const list = await app.inject({ url: '/v1/models', headers })
  t.same(list.json().data.map((model: { id: string }) => model.id), [id])
  for (const url of [`/v1/models/${id}`, `/v1/models/${encodeURIComponent(id)}`, '/v1/models/meta%2fllama-3.1:free']) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 200, url)
    t.match(answer.json(), { id, object: 'model', created: Number, owned_by: String })
  }
})

t.test('an unknown model is a 404', async t => {
  const { app, headers } = await buildGateway(t)
  for (const url of ['/v1/models/nothing', '/v1/models/a%2Fb%2Fc', `/v1/models/${'x'.repeat(600)}`]) {
    const answer = await app.inject({ url, headers })
    t.equal(answer.statusCode, 404, url)
  }
  const { error } = (await app.inject({ url: '/v1/models/nothing', headers })).json()
  t.strictSame(error, {
    message: "The model 'nothing' does not exist", type: 'invalid_request_error', param: 'model', code: 'model_not_found'
  })
})

t.test('price, limits and abilities are told in fields beside those of OpenAI', async t => {
  const config = parseConfig(`
environment_providers: false
providers: [{ id: openai, api_key: x }, { id: deepseek, api_key: x }, { id: mine, base_url: "http://127.0.0.1:9" }]
models:
  - { id: smart, provider: openai, model: gpt-4.1 }
  - { id: cheap, provider: deepseek, model: deepseek-v4-pro, price: { input: "0.000001" } }
  - { id: paint, provider: mine, kind: image, price: { image: 0.04 } }
  - { id: film, provider: mine, kind: video, price: { second: 0.5 }, capabilities: { vision: true } }`, {})
  const { app, headers } = await buildGateway(t, { config })
  const list = (await app.inject({ url: '/v1/models', headers })).json()
  t.equal(listError(list), null)
  t.strictSame(list.data[0], {
    id: 'smart',
    object: 'model',
    created: Date.UTC(2025, 3, 14) / 1000,
    owned_by: 'openai',
    kind: 'chat',
    context_window: 1_047_576,
    max_output_tokens: 32_768,
    pricing: { input: '2', output: '8', cache_read: '0.5' },
    modalities: { input: ['text', 'image', 'file'], output: ['text'] },
    capabilities: { tools: true, json_schema: true, reasoning: false, streaming: true, temperature: true },
    knowledge: '2024-04',
    deprecated: false
  })
  t.match(list.data[1].pricing, { input: '0.000001', output: '0.87', cache_read: '0.003625' })
  t.match(list.data[2], { kind: 'image', pricing: { image: '0.04' }, modalities: { input: ['text'], output: ['image'] } })
  t.match(list.data[3], { pricing: { second: '0.5' }, modalities: { input: ['text', 'image'], output: ['video'] } })
  const one = (await app.inject({ url: '/v1/models/smart', headers })).json()
  t.strictSame(one, list.data[0])
})

t.test('of a model that nobody knows nothing is claimed', async t => {
  const config = configFor(providerAt('http://127.0.0.1:9/v1'), { price: null })
  const { app, headers } = await buildGateway(t, { config })
  const { data: [model] } = (await app.inject({ url: '/v1/models', headers })).json()
  t.same(Object.keys(model), ['id', 'object', 'created', 'owned_by', 'kind'])
})

t.test('a provider added by its key has the catalogue\'s models before it was asked for its own', async t => {
  const config = configFromEnvironment({ OPENAI_API_KEY: 'x' })
  const { app, headers } = await buildGateway(t, { config })
  const list = (await app.inject({ url: '/v1/models', headers })).json()
  t.equal(listError(list), null)
  const known = list.data.find(({ id }: { id: string }) => id === 'openai/gpt-5-nano')
  t.match(known, { pricing: { input: '0.05', output: '0.4', cache_read: '0.005' } })
  t.equal((await app.inject({ url: '/v1/models/openai/text-embedding-3-small', headers })).statusCode, 404)
})

t.test('a key sees the models it may use, and no others', async t => {
  const { app } = await buildGateway(t, { config: configFromEnvironment({ OPENAI_API_KEY: 'x' }) })
  const { key } = await app.keys.create({ account: 'default', label: 'narrow', models: ['openai/gpt-4.1*', 'sandbox-*'] })
  const headers = { authorization: `Bearer ${key}` }
  const list = (await app.inject({ url: '/v1/models', headers })).json()
  t.same(list.data.map(({ id }: { id: string }) => id).filter((id: string) => !/^(openai\/gpt-4\.1|sandbox-)/.test(id)), [])
  t.ok(list.data.length >= 3)
  t.equal((await app.inject({ url: '/v1/models/openai/gpt-4.1', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/v1/models/gpt-4.1', headers })).statusCode, 200, 'by its bare name too')
  t.equal((await app.inject({ url: '/v1/models/openai/gpt-4o', headers })).statusCode, 404)
})
