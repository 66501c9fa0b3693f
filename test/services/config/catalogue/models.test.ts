import { readFileSync } from 'node:fs'
import t from 'tap'
import { knownProviders } from '../../../../schemas/config/known-providers.ts'
import type { CatalogueFile } from '../../../../services/config/catalogue/catalogue-file.ts'
import { anthropicTraitsOf } from '../../../../services/providers/anthropic/model-traits.ts'
import { geminiTraitsOf } from '../../../../services/providers/gemini/model-traits.ts'
import { corrected } from '../../../../tools/catalogue/corrections.ts'
import { catalogueText } from '../../../../tools/catalogue/text.ts'
import { catalogueModel, catalogueModelNames } from '../../../../services/config/catalogue/models.ts'

const folder = new URL('../../../../services/config/catalogue/', import.meta.url)
const text = readFileSync(new URL('models.json', folder), 'utf8')
const file: CatalogueFile = JSON.parse(text)
const rows = Object.values(file.providers).flatMap((models) => Object.values(models))

t.test('the data file matches the output of the script, is small, and names its source', async (t) => {
  t.equal(catalogueText(file), text, 'sorted, a line for each model')
  t.ok(text.length < 700_000)
  t.match(text.slice(0, 400), /"source": "https:\/\/models\.dev, litellm[^]*MIT[^]*"date": "20\d\d-\d\d-\d\d"/)
  t.match(readFileSync(new URL('LICENSE', folder), 'utf8'), /MIT License\s+Copyright \(c\) 2025 models\.dev/)
  t.ok(rows.length > 500)
  const known = new Set(knownProviders.map(({ id }) => id))
  for (const id of Object.keys(file.providers)) t.ok(known.has(id), `${id} is a known provider`)
})

t.test('capabilities are those that the adapters and the APIs behind them have', async (t) => {
  t.equal(catalogueText({ ...file, providers: corrected(file.providers) }), text, 'corrections are applied')
  for (const name of catalogueModelNames('anthropic')) {
    const { structured, thinking, sampling } = anthropicTraitsOf(name)
    const capabilities = { jsonSchema: structured, reasoning: thinking !== 'none', tools: true, audio: false }
    t.match(catalogueModel('anthropic', name), { capabilities, temperature: sampling }, name)
  }
  const gemini = catalogueModelNames('gemini').filter(one => /^gemini-(?!.*(image|banana|omni|tts))/.test(one))
  for (const name of gemini) {
    const reasoning = geminiTraitsOf(name).efforts !== null
    t.match(catalogueModel('gemini', name)?.capabilities, { reasoning }, name)
  }
  const schemas = (provider: string, name: string): unknown => {
    return catalogueModel(provider, name)?.capabilities.jsonSchema
  }
  t.same([schemas('anthropic', 'claude-sonnet-4-5'), schemas('anthropic', 'claude-sonnet-4-0')], [true, false])
  t.same([schemas('mistral', 'mistral-large-latest'), schemas('deepseek', 'deepseek-v4-pro')], [true, false])
  t.equal(catalogueModel('openai', 'gpt-5-pro')?.kind, 'chat', 'the Responses API serves it')
})

t.test('every price is an integer of pico-USD, and input and output come together', async (t) => {
  const prices = rows.flatMap(({ price, tiers = [] }) => price === undefined ? tiers : [price, ...tiers])
  const numbers = prices.flatMap((price) => [price.inputPico, price.outputPico, ...Object.values(price)])
  t.same(numbers.filter((number) => !Number.isSafeInteger(number) || number < 0), [])
  t.ok(rows.filter(({ kind, price }) => kind === 'chat' && price !== undefined).length > 500)
})

t.test('well-known models have prices, limits and capabilities', async (t) => {
  t.match(catalogueModel('openai', 'gpt-4.1'), {
    kind: 'chat',
    price: { inputPico: 2_000_000, outputPico: 8_000_000, cacheReadPico: 500_000, cacheWritePico: null },
    contextWindow: 1_047_576,
    maxOutput: 32_768,
    capabilities: { tools: true, vision: true, audio: false, jsonSchema: true, reasoning: false },
    created: Date.UTC(2025, 3, 14) / 1000,
    temperature: true,
    knowledge: '2024-04',
    deprecated: false
  })
  t.match(catalogueModel('deepseek', 'deepseek-v4-pro')?.price,
    { inputPico: 1_320_000, outputPico: 3_960_000 })
  t.match(catalogueModel('openrouter', 'anthropic/claude-sonnet-4.5'), {
    price: { inputPico: 3_000_000, cacheWritePico: 3_750_000 },
    contextWindow: 200_000
  })
  t.equal(catalogueModel('gemini', 'gemini-2.5-flash')?.price?.inputPico, 300_000, 'under the name it has here')
})

t.test('a date at the end is ignored, and nothing else', async (t) => {
  const input = (upstream: string) => catalogueModel('openai', upstream)?.price?.inputPico
  t.equal(input('gpt-5-nano-2025-08-07'), 50_000)
  t.equal(input('gpt-5-nano-20250807'), 50_000)
  t.equal(input('gpt-5-nano@20250807'), 50_000)
  t.equal(input('gpt-4o-2024-05-13'), 5_000_000, 'a dated model of its own has its own price')
  const others = ['gpt-5-nano-2025-13-07', 'gpt-5-nano-2025-0807', 'gpt-5-nano-0807', 'gpt-5-nano-latest', 'GPT-5-nano',
    'gpt-5-nano2025-08-07', 'gpt-5-nano-2025-08-07-x', 'ft:gpt-5-nano', '__proto__', 'constructor', '']
  for (const other of others) t.equal(catalogueModel('openai', other), undefined, other)
})

t.test('nothing is known of other providers', async (t) => {
  for (const provider of ['sandbox', 'ollama', '__proto__', 'google']) {
    t.equal(catalogueModel(provider, 'gpt-5-nano'), undefined)
    t.same(catalogueModelNames(provider), [])
  }
})

t.test('a model that no endpoint serves is known, but not listed', async (t) => {
  t.equal(catalogueModel('openai', 'text-embedding-3-small')?.kind, null)
  t.notOk(catalogueModelNames('openai').includes('text-embedding-3-small'))
  t.ok(catalogueModelNames('openai').includes('gpt-image-1.5'))
})

t.test('a cloud that sells models of other makers has their abilities, and prices of its own', async (t) => {
  for (const [maker, name] of [['gemini', 'gemini-3.5-flash'], ['anthropic', 'claude-sonnet-4-6']] as const) {
    const { price, tiers, ...abilities } = catalogueModel(maker, name) ?? {}
    t.ok(price)
    t.match(catalogueModel('vertex', name), { ...abilities, price: null, tiers: [] })
  }
  t.match(catalogueModel('vertex', 'claude-sonnet-4-5@20250929'), { kind: 'chat', price: null })
  t.equal(catalogueModel('vertex', 'unknown'), undefined)
})
