import t from 'tap'
import { parseConfig } from '../../../../services/config/read/parse.ts'

/** The model configured by a line of the file. */
function modelOf (fields: string) {
  const providers = '[{ id: openai, api_key: x }, { id: mine, base_url: "http://a" }]'
  return parseConfig(`environment_providers: false\nproviders: ${providers}\nmodels: [{ ${fields} }]`, {}).models[0]
}

t.test('the catalogue completes the file', async (t) => {
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

t.test('the file overrides the catalogue field by field, also within price and capabilities', async (t) => {
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

t.test('service tiers and searches have prices of their own', async (t) => {
  const tiers = '[{ above: 9, input: 3, output: 4 }, { above: 5, input: 1, output: 2 }]'
  const flex = `{ name: flex, input: 0.5, output: 1, cache_read: 0.1, tiers: ${tiers} }`
  t.match(modelOf(`id: m, provider: mine, price: { input: 1, output: 2, service_tiers: [${flex}], search: 0.01 }`)?.price, {
    inputPico: 1_000_000,
    serviceTiers: [{
      name: 'flex',
      inputPico: 500_000,
      outputPico: 1_000_000,
      cacheReadPico: 100_000,
      cacheWritePico: null,
      tiers: [{ aboveTokens: 5, inputPico: 1_000_000 }, { aboveTokens: 9, outputPico: 4_000_000 }]
    }],
    searchNano: 10_000_000,
    maxSearches: null
  })
})

t.test('the cost price is the file\'s alone, of the model or of a deployment', async (t) => {
  t.equal(modelOf('id: gpt-4.1, provider: openai')?.cost, undefined)
  t.match(modelOf('id: gpt-4.1, provider: openai, cost: { input: 1.5, output: 6, image: 0.01, second: 0.5 }')?.cost,
    { inputPico: 1_500_000, outputPico: 6_000_000, cacheReadPico: null, imageNano: 10_000_000 })
  const tiers = '[{ above: 9, input: 2, output: 3 }]'
  t.match(modelOf(`id: gpt-4.1, provider: openai, cost: { input: 0, output: 0, tiers: ${tiers} }`)?.cost,
    { inputPico: 0, tiers: [{ aboveTokens: 9, inputPico: 2_000_000 }] })
  const several = modelOf(`id: m, price: { input: 2, output: 2 }, cost: { input: 1, output: 1 }, deployments: [
    { provider: mine, cost: { input: 0.5, output: 0.5 } }, { provider: openai }]`)
  t.match(several, { cost: { inputPico: 1_000_000 }, deployments: [{ cost: { inputPico: 500_000 } }, {}] })
  t.notOk('cost' in (several?.deployments[1] ?? {}))
})

t.test('usage is reported by the tags that the file names', async (t) => {
  const usageOf = (text: string) => parseConfig(`environment_providers: false\n${text}`, {}).usage
  t.same(usageOf(''), { tags: [], costTolerance: 0.05 })
  t.same(usageOf('usage: { tags: [team, a-b_1], cost_tolerance: 0.2 }'), { tags: ['team', 'a-b_1'], costTolerance: 0.2 })
  for (const wrong of ['tags: [a b]', 'tags: ["1"]', 'tags: [a, a]', 'tags: [a, b, c, d, e, f, g, h, i]', 'cost_tolerance: 2', 'tag: [a]']) {
    t.throws(() => usageOf(`usage: { ${wrong} }`), wrong)
  }
})

t.test('the catalogue is not used for unknown providers and models, nor for several deployments', async (t) => {
  for (const fields of [
    'id: gpt-4.1, provider: mine', 'id: my-own, provider: openai',
    'id: own, deployments: [{ provider: openai }, { provider: mine }]'
  ]) {
    const model = modelOf(fields)
    t.match(model, { kind: 'chat', price: null, contextWindow: null, maxOutput: null, created: 1_767_225_600 }, fields)
    t.match(model?.capabilities, { tools: false, vision: false, streaming: true }, fields)
  }
  t.equal(modelOf('id: one, deployments: [{ provider: openai, model: gpt-4.1 }]')?.price?.inputPico, 2_000_000)
})

t.test('each of several deployments has its own price or the catalogue\'s, or none', async (t) => {
  const pricesOf = (fields: string) => modelOf(`id: gpt-4.1, ${fields}`)?.deployments.map(({ price }) => price?.inputPico ?? price)
  const both = 'deployments: [{ provider: openai }, { provider: mine }]'
  t.strictSame(pricesOf(both), [2_000_000, null])
  t.equal(modelOf(`id: gpt-4.1, ${both}`)?.price?.inputPico, 2_000_000, 'shown to clients')
  t.strictSame(pricesOf(`${both}, price: { input: 1, output: 1 }`), [undefined, undefined], 'the model has one price')
  const mine = '{ provider: mine, price: { input: 1, output: 4 } }'
  const own = `deployments: [{ provider: openai, price: { input: 3 } }, ${mine}]`
  t.strictSame(pricesOf(own), [3_000_000, 1_000_000])
})

t.test('the catalogue\'s tiers apply unless the file sets tiers or prices of tokens', async (t) => {
  const tiersOf = (fields: string) => modelOf(`id: gpt-5.4, provider: openai${fields}`)?.price?.tiers
  t.match(tiersOf(''), [{ aboveTokens: 272_000, inputPico: 5_000_000, outputPico: 22_500_000 }])
  t.match(tiersOf(', price: { cache_read: 0.1 }'), [{ aboveTokens: 272_000 }])
  t.equal(tiersOf(', price: { input: 0.1 }'), null)
  const uncached = { cacheReadPico: null, cacheWritePico: null, cacheWrite1hPico: null }
  const [high, low] = ['{ above: 200, input: 2, output: 3 }', '{ above: 100, input: 1.5, output: 3, cache_read: 0.5 }']
  t.strictSame(tiersOf(`, price: { input: 1, output: 2, tiers: [${high}, ${low}] }`), [
    { ...uncached, aboveTokens: 100, inputPico: 1_500_000, outputPico: 3_000_000, cacheReadPico: 500_000 },
    { ...uncached, aboveTokens: 200, inputPico: 2_000_000, outputPico: 3_000_000 }
  ])
  t.match(modelOf('id: m, provider: mine, price: { input: 1, output: 2, cache_write_1h: 5 }')?.price, { cacheWrite1hPico: 5_000_000 })
  t.match(modelOf('id: m, provider: mine, price: { input: 1, output: 2, audio_input: 5 }')?.price, { audioInputPico: 5_000_000 })
})

t.test('a policy may name a model that only the catalogue lists', async (t) => {
  const text = 'policies: [{ id: "auto:search", models: [perplexity/sonar*] }]'
  t.equal(parseConfig(text, { PERPLEXITY_API_KEY: 'x' }).policies[0]?.id, 'auto:search')
})
