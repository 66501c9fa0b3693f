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
  const data = list.data.filter(({ owned_by: owner }: { owned_by: string }) => owner !== 'tollgate')
  t.match(data[0], {
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
  t.match(data[1].pricing, { input: '0.000001', output: '3.96', cache_read: '0.044' })
  t.match(data[2], { kind: 'image', pricing: { image: '0.04' }, modalities: { input: ['text'], output: ['image'] } })
  t.match(data[3], { pricing: { second: '0.5' }, modalities: { input: ['text', 'image'], output: ['video'] } })
  const one = (await app.inject({ url: '/v1/models/smart', headers })).json()
  t.strictSame(one, data[0])
})

t.test('of a model that nobody knows nothing is claimed', async t => {
  const config = configFor(providerAt('http://127.0.0.1:9/v1'), { price: null })
  const { app, headers } = await buildGateway(t, { config })
  const { data: [model] } = (await app.inject({ url: '/v1/models', headers })).json()
  t.match(model, { context_length: null, pricing: { prompt: '-1' } })
  for (const field of ['context_window', 'max_model_len', 'capabilities', 'modalities']) t.notOk(field in model, field)
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
  t.same(list.data.map(({ id }: { id: string }) => id).filter((id: string) => !/^(openai\/gpt-4\.1|sandbox-|auto)/.test(id)), [])
  t.ok(list.data.length >= 3)
  t.equal((await app.inject({ url: '/v1/models/openai/gpt-4.1', headers })).statusCode, 200)
  t.equal((await app.inject({ url: '/v1/models/gpt-4.1', headers })).statusCode, 200, 'by its bare name too')
  t.equal((await app.inject({ url: '/v1/models/openai/gpt-4o', headers })).statusCode, 404)
})

t.test('auto and the policies come first, with the most that they can reach', async t => {
  const config = parseConfig(`
environment_providers: false
providers: [{ id: openai, api_key: x }, { id: mine, base_url: "http://127.0.0.1:9" }]
models:
  - { id: long, provider: openai, model: gpt-4.1 }
  - { id: deep, provider: mine, price: { input: 1, output: 2 }, context_window: 9, max_output: 100000, capabilities: { reasoning: true } }
  - { id: unpriced, provider: mine, context_window: 9000000 }
  - { id: film, provider: mine, kind: video, price: { second: 0.5 } }
policies:
  - { id: "auto:deep", models: [deep] }
  - { id: "auto:film", models: [film] }`, {})
  const { app, headers } = await buildGateway(t, { config })
  const { data } = (await app.inject({ url: '/v1/models', headers })).json()
  t.same(data.map(({ id }: { id: string }) => id),
    ['auto', 'auto:deep', 'auto:film', 'auto:cost', 'auto:quality', 'auto:speed', 'long', 'deep', 'unpriced', 'film'])
  t.match(data[0], {
    owned_by: 'tollgate',
    kind: 'chat',
    context_length: 1_047_576,
    max_output_tokens: 100_000,
    capabilities: { tools: true, reasoning: true },
    modalities: { input: ['text', 'image', 'file'] },
    pricing: { prompt: '-1', completion: '-1' }
  })
  t.match(data[1], { context_length: 9, modalities: { input: ['text'] } })
  t.match(data[2], { kind: 'video' })
  t.strictSame((await app.inject({ url: '/v1/models/auto', headers })).json(), data[0])
  t.equal((await app.inject({ url: '/v1/models/auto:nothing', headers })).statusCode, 404)

  const { key } = await app.keys.create({ account: 'default', label: 'narrow', models: ['deep'] })
  const narrow = { authorization: `Bearer ${key}` }
  const list = (await app.inject({ url: '/v1/models', headers: narrow })).json()
  t.match(list.data[0], { id: 'auto', context_length: 9 })
  t.notOk(list.data.some(({ id }: { id: string }) => id === 'auto:film'), 'no model of it may be used')
  t.equal((await app.inject({ url: '/v1/models/auto:film', headers: narrow })).statusCode, 404)
})

t.test('Anthropic\'s form has the policies too', async t => {
  const { app, headers } = await buildGateway(t)
  const version = { ...headers, 'anthropic-version': '2023-06-01' }
  const list = (await app.inject({ url: '/v1/models', headers: version })).json()
  t.match(list.data[0], { type: 'model', id: 'auto', max_input_tokens: 128_000 })
  t.match((await app.inject({ url: '/v1/models/auto', headers: version })).json(), { type: 'model', id: 'auto' })
})

t.test('a list follows the models as they change', async t => {
  const { app, headers } = await buildGateway(t, { config: configFor(providerAt('http://127.0.0.1:9/v1')) })
  const ids = async (): Promise<string[]> =>
    (await app.inject({ url: '/v1/models', headers })).json().data.map(({ id }: { id: string }) => id)
  t.same(await ids(), ['chat'])
  app.models.apply(configFor(providerAt('http://127.0.0.1:9/v1'), { id: 'other' }))
  t.same(await ids(), ['other'])
})

t.test('a typo gets the nearest name, among those that the key may use', async t => {
  const { app, headers } = await buildGateway(t, { config: configFromEnvironment({ OPENAI_API_KEY: 'x' }) })
  const message = async (id: string, sent = headers): Promise<string> =>
    (await app.inject({ url: `/v1/models/${id}`, headers: sent })).json().error.message
  t.match(await message('something-else'), /does not exist$/)
  t.match(await message('atuo'), /does not exist\. Did you mean `auto`\?$/)
  t.match(await message('openai/tts-1'), /does not exist\. It makes speech; no endpoint of this gateway serves that\.$/)
  t.match(await message('openia/gpt-4.1'), /Did you mean `openai\/gpt-4.1`/)
  const { key } = await app.keys.create({ account: 'default', label: 'narrow', models: ['other'] })
  t.notMatch(await message('openia/gpt-4.1', { ...headers, authorization: `Bearer ${key}` }), /Did you mean/)
})
