import t from 'tap'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { describeModel } from '../../../services/models/describe.ts'

function described (fields: string) {
  const providers = 'environment_providers: false\nproviders: [{ id: mine, base_url: "http://a" }]'
  const [model] = parseConfig(`${providers}\nmodels: [{ provider: mine, ${fields} }]`, {}).models
  return model && describeModel(model)
}

t.test('a model of which nothing is known has only the fields of OpenAI and its kind', async t => {
  const created = 1_767_225_600
  t.same(describeModel(modelFromCatalogue('mine', 'x')),
    { id: 'mine/x', object: 'model', created, owned_by: 'mine', kind: 'chat' })
})

t.test('prices are exact decimal text in the units of gateway.yaml, and absent ones are left out', async t => {
  t.same(described('id: m, price: { input: 0.000001, cache_read: 0, second: 0.05 }')?.pricing,
    { input: '0.000001', cache_read: '0', second: '0.05' })
})

t.test('prices of service tiers and searches are shown', async t => {
  const flex = '{ name: flex, input: 0.5, output: 1, cache_read: 0.1 }'
  t.same(described(`id: m, price: { input: 1, output: 2, search: 0.01, service_tiers: [${flex}] }`)?.pricing, {
    input: '1',
    output: '2',
    search: '0.01',
    service_tiers: [{ name: 'flex', input: '0.5', output: '1', cache_read: '0.1' }]
  })
})

t.test('limits and capabilities of the file are shown', async t => {
  t.match(described('id: m, context_window: 5, max_output: 6, capabilities: { vision: true, tools: true }'), {
    context_window: 5,
    max_output_tokens: 6,
    modalities: { input: ['text', 'image'], output: ['text'] },
    capabilities: { tools: true, json_schema: false, reasoning: false, streaming: true }
  })
  t.same(described('id: v, kind: video')?.modalities, { input: ['text', 'image'], output: ['video'] })
})

t.test('the catalogue adds the date of its knowledge, media, temperature and deprecation', async t => {
  t.match(describeModel(modelFromCatalogue('openai', 'gpt-4.1')), {
    knowledge: '2024-04',
    deprecated: false,
    modalities: { input: ['text', 'image', 'file'], output: ['text'] },
    capabilities: { temperature: true }
  })
})

t.test('an image model shows sizes, qualities and prices under the names of gateway.yaml', async t => {
  t.same(described(`id: i, kind: image, images: { sizes: [64x64], size_range: { max: 128 }, qualities: [],
    prices: [{ size: 64x64, image: 0.01 }, { quality: high, image: 0.02, further_megapixel: 0.5 }] }`)?.images, {
    sizes: ['64x64'],
    size_range: { min: 1, max: 128, multiple_of: 1, max_ratio: 100, max_pixels: 16_384 },
    default_size: '64x64',
    qualities: [],
    prices: [
      { size: '64x64', image: '0.01' },
      { quality: 'high', image: '0.02', further_megapixel: '0.5' }
    ]
  })
})
