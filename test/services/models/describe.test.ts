import t from 'tap'
import { modelFromCatalogue } from '../../../services/config/catalogue/models.ts'
import { parseConfig } from '../../../services/config/read/parse.ts'
import { describeModel } from '../../../services/models/describe.ts'

function described (fields: string) {
  const providers = 'environment_providers: false\nproviders: [{ id: mine, base_url: "http://a" }]'
  const [model] = parseConfig(`${providers}\nmodels: [{ provider: mine, ${fields} }]`, {}).models
  return model && describeModel(model)
}

t.test('of a model of which nothing is known, no limit, price or capability is claimed', async t => {
  const { id, object, created, owned_by: owner, kind, ...rest } = describeModel(modelFromCatalogue('mine', 'x'))
  t.same([id, object, created, owner, kind], ['mine/x', 'model', 1_767_225_600, 'mine', 'chat'])
  t.match(rest, {
    context_length: null,
    pricing: { prompt: '-1', completion: '-1' },
    top_provider: { context_length: null, max_completion_tokens: null },
    architecture: { modality: 'text->text' }
  })
  for (const field of ['context_window', 'max_output_tokens', 'max_model_len', 'modalities', 'capabilities', 'knowledge']) {
    t.notOk(field in rest, field)
  }
})

t.test('fields of OpenRouter, vLLM and LiteLLM say the same', async t => {
  const model = described('id: m, context_window: 128000, max_output: 6, price: { input: 2, output: 0.000001, cache_read: 0.5, ' +
    'search: 0.01 }, capabilities: { tools: true, reasoning: true, vision: true }')
  t.match(model, {
    name: 'm',
    canonical_slug: 'm',
    context_length: 128_000,
    max_model_len: 128_000,
    max_input_tokens: 128_000,
    max_tokens: 6,
    top_provider: { context_length: 128_000, max_completion_tokens: 6, is_moderated: false },
    architecture: { modality: 'text+image->text', input_modalities: ['text', 'image'], output_modalities: ['text'] },
    links: { details: '/v1/models/m' }
  })
  t.match(model?.pricing, {
    prompt: '0.000002', completion: '0.000000000001', request: '0', input_cache_read: '0.0000005', web_search: '0.01'
  })
  const parameters = model?.supported_parameters ?? []
  t.ok(['max_tokens', 'tools', 'tool_choice', 'reasoning_effort', 'temperature'].every(name => parameters.includes(name)))
  t.notOk(parameters.includes('response_format'))
})

t.test('a video model shows lengths, sizes, ratios, frames, audio and prices, and does not stream', async t => {
  const model = described(`id: v, kind: video, price: { second: 0.1 }, video: { seconds: [4, 8], default_seconds: 4,
    sizes: [1280x720], aspect_ratios: ["16:9"], audio: true, first_frame: true, prices: [{ size: 1280x720, second: 0.2 }] }`)
  t.same(model?.video, {
    seconds: [4, 8],
    default_seconds: 4,
    max_seconds: 8,
    sizes: ['1280x720'],
    aspect_ratios: ['16:9'],
    audio: true,
    first_frame: true,
    last_frame: false,
    prices: [{ size: '1280x720', second: '0.2' }]
  })
  t.match(model, { capabilities: { streaming: false }, supported_parameters: [], pricing: { second: '0.1', prompt: '0' } })
})

t.test('prices are exact decimal text in the units of gateway.yaml, and absent ones are left out', async t => {
  const pricing = described('id: m, price: { input: 0.000001, cache_read: 0, second: 0.05 }')?.pricing
  t.match(pricing, { input: '0.000001', cache_read: '0', second: '0.05' })
  t.notOk('output' in Object(pricing))
})

t.test('prices of service tiers and searches are shown', async t => {
  const flex = '{ name: flex, input: 0.5, output: 1, cache_read: 0.1 }'
  t.match(described(`id: m, price: { input: 1, output: 2, search: 0.01, service_tiers: [${flex}] }`)?.pricing, {
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
