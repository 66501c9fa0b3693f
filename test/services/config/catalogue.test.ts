import t from 'tap'
import { parseConfig } from '../../../services/config/load.ts'

/** The model that a line of the file stands for. */
function modelOf (fields: string) {
  const providers = '[{ id: openai, api_key: x }, { id: mine, base_url: "http://a" }]'
  return parseConfig(`environment_providers: false\nproviders: ${providers}\nmodels: [{ ${fields} }]`, {}).models[0]
}

t.test('the catalogue tells what the file leaves out', async (t) => {
  t.match(modelOf('id: fast, provider: openai, model: gpt-4.1'), {
    id: 'fast',
    kind: 'chat',
    price: { inputPico: 2_000_000, outputPico: 8_000_000, cacheReadPico: 500_000, cacheWritePico: null },
    contextWindow: 1_047_576,
    maxOutput: 32_768,
    capabilities: { tools: true, vision: true, audio: false, files: true, jsonSchema: true },
    created: Date.UTC(2025, 3, 14) / 1000,
    ownedBy: 'openai'
  })
  t.equal(modelOf('id: gpt-image-1.5, provider: openai')?.kind, 'image')
})

t.test('the file overrides any field, prices and abilities one by one', async (t) => {
  const model = modelOf(`id: gpt-4.1, provider: openai, kind: image, price: { input: 3, image: 0.04 },
    context_window: 5, max_output: 6, capabilities: { vision: false, audio: true }, owned_by: me, created: 7`)
  t.match(model, {
    kind: 'image',
    price: { inputPico: 3_000_000, outputPico: 8_000_000, cacheReadPico: 500_000, imageNano: 40_000_000 },
    contextWindow: 5,
    maxOutput: 6,
    capabilities: { tools: true, vision: false, audio: true },
    ownedBy: 'me',
    created: 7
  })
  t.match(modelOf('id: gpt-4.1, provider: openai, price: { input: 0, output: 0, cache_read: 0 }')?.price,
    { inputPico: 0, outputPico: 0, cacheReadPico: 0 }, 'free is a price')
})

t.test('it says nothing of other providers, of other models, and of several deployments', async (t) => {
  for (const fields of [
    'id: gpt-4.1, provider: mine', 'id: my-own, provider: openai',
    'id: gpt-4.1, deployments: [{ provider: openai }, { provider: mine }]'
  ]) {
    const model = modelOf(fields)
    t.match(model, { kind: 'chat', price: null, contextWindow: null, maxOutput: null, created: 1_767_225_600 }, fields)
    t.match(model?.capabilities, { tools: false, vision: false, streaming: true }, fields)
  }
  t.equal(modelOf('id: one, deployments: [{ provider: openai, model: gpt-4.1 }]')?.price?.inputPico, 2_000_000)
})

t.test('a policy may name models that only the catalogue lists', async (t) => {
  const text = 'policies: [{ id: "auto:search", models: [perplexity/sonar*] }]'
  t.equal(parseConfig(text, { PERPLEXITY_API_KEY: 'x' }).policies[0]?.id, 'auto:search')
})
