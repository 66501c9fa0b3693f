import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import type { CatalogueRow } from '../../../services/config/catalogue/catalogue-file.ts'
import { readCatalogueSource } from '../../../tools/catalogue/source.ts'
import { catalogueText } from '../../../tools/catalogue/text.ts'

const fixture = readFileSync(new URL('../../fixtures/catalogue/models-dev.json', import.meta.url), 'utf8')
const names: Record<string, string> = { google: 'gemini', togetherai: 'together' }

type Rate = 'input' | 'output' | 'cache_read' | 'cache_write' | 'cached_input'
type Costs = Record<'input' | 'output', string> & Partial<Record<Rate, string>>
type Tier = Costs & { tier: { size: number } }
interface Published { models: Record<string, { cost?: Costs & { tiers?: Tier[] } }> }
const { providers: published }: { providers: Record<string, Published> } = JSON.parse(fixture)
const ids = Object.keys(published).map((id) => names[id] ?? id)
const source = readCatalogueSource(fixture, ids)

/** A source with one model of a provider `p`. */
function withModel (fields: string): string {
  return `{"p":{"id":"p","models":{"m":{"id":"m","name":"M","release_date":"2026-01","limit":{"context":8000,"output":0},
    "modalities":{"input":["text"],"output":["text"]}${fields}}}}}`
}

function rowOf (fields: string): CatalogueRow | undefined {
  return readCatalogueSource(withModel(fields), ['p']).providers.p?.m
}

/** USD per million tokens as written, by moving the point six places: pico-USD per token. */
function movePoint (usd: string | number): number {
  const [whole = '', fraction = ''] = String(usd).split('.')
  return Number(whole + fraction.padEnd(6, '0'))
}

/** What is to be kept of a cost: input, output, read from the cache, written to it. */
function exact (costs: Costs): Array<number | undefined> {
  const { input, output, cache_read: read = costs.cached_input, cache_write: write } = costs
  // Writing for less than the input costs: that is a fee on top of it.
  const written = write !== undefined && movePoint(write) < movePoint(input) ? undefined : write
  return [input, output, read, written].map((usd) => usd === undefined ? undefined : movePoint(usd))
}

t.test('no price loses a digit against its source', async (t) => {
  let compared = 0
  for (const [provider, { models }] of Object.entries(published)) {
    for (const [name, { cost }] of Object.entries(models)) {
      const row = source.providers[names[provider] ?? provider]?.[name]
      if (cost === undefined || row?.price === undefined) continue
      const kept = (price: CatalogueRow['price']) =>
        [price?.inputPico, price?.outputPico, price?.cacheReadPico, price?.cacheWritePico]
      t.same(kept(row.price), exact(cost), `${provider}/${name}`)
      t.same(row.tiers?.map((tier) => [tier.aboveTokens, ...kept(tier)]),
        cost.tiers?.map((tier) => [tier.tier.size, ...exact(tier)]), `${provider}/${name}, tiers`)
      compared++
    }
  }
  t.ok(compared > 15, `${compared} compared`)
})

t.test('a price with at most six decimals is exact, and no other one is rounded', async (t) => {
  const pico = fc.bigInt({ min: 0n, max: 9_007_199_254_740n })
  t.doesNotThrow(() => fc.assert(fc.property(pico, fc.boolean(), fc.nat(4), (price, quoted, zeros) => {
    const digits = String(price).padStart(7, '0')
    const usd = `${digits.slice(0, -6)}.${digits.slice(-6)}${'0'.repeat(zeros)}`
    const written = quoted ? `"${usd}"` : usd
    const row = rowOf(`,"cost":{"input":${written},"output":${written},"cache_read":${written}}`)
    return row?.price?.inputPico === Number(price) && row.price.outputPico === Number(price) &&
      row.price.cacheReadPico === Number(price)
  })))
  t.doesNotThrow(() => fc.assert(fc.property(pico, fc.integer({ min: 1, max: 999_999 }), (price, rest) => {
    const digits = String(price).padStart(7, '0')
    const usd = `${digits.slice(0, -6)}.${digits.slice(-6)}${String(rest).padStart(6, '0')}`
    return rowOf(`,"cost":{"input":${usd},"output":${usd}}`)?.price === undefined
  })))
})

t.test('the format of models.dev/api.json is read, with plain numbers and a field per capability', async (t) => {
  const row = rowOf(`,"reasoning":false,"tool_call":true,"structured_output":true,"temperature":false,"attachment":true,
    "cost":{"input":1e-1,"output":0.4,"context_over_200k":{"input":0.2,"output":0.8}},"status":"deprecated"`)
  t.match(row, {
    kind: 'chat',
    features: ['tools', 'json_schema'],
    temperature: false,
    contextWindow: 8000,
    maxOutput: undefined,
    price: { inputPico: 100_000, outputPico: 400_000 },
    tiers: [{ aboveTokens: 200_000, inputPico: 200_000, outputPico: 800_000 }],
    deprecated: true
  })
  t.same(rowOf(',"tool_call":{"supported":true}')?.features, ['tools'])
  t.equal(rowOf('')?.temperature, undefined)
  t.equal(readCatalogueSource(withModel(''), ['p']).date, null)
  t.equal(source.date, '2026-07-02')
})

t.test('a price that does not cover everything a request can use is omitted and reported', async (t) => {
  const cases = [
    ['{"input":1,"output":2,"request":5}', 'other charges, request'],
    ['{"input":1,"output":2,"reasoning":3}', 'reasoning has a price of its own'],
    ['{"input":1,"output":0}', 'the output price is missing'],
    ['{"input":1,"output":0.0000001}', '0.0000001 has more than 6 decimals'],
    ['{"input":1,"output":2,"tiers":[{"input":1,"output":2,"tier":{"type":"time","size":5}}]}', 'tiers are by time']
  ]
  for (const [cost = '', why = ''] of cases) {
    const { providers, notes } = readCatalogueSource(withModel(`,"cost":${cost}`), ['p'])
    t.equal(providers.p?.m?.price, undefined, cost)
    t.equal(providers.p?.m?.tiers, undefined, cost)
    t.equal(notes.length, 1)
    t.match(notes[0], 'p/m: price omitted: ')
    t.match(notes[0], why)
  }
  t.match(source.notes.join('\n'), 'vercel/inception/mercury-2: price omitted: 0.024999999999999998')
  t.match(source.notes.join('\n'), 'openrouter/google/lyria-3-pro-preview: price omitted')
  t.same(readCatalogueSource(withModel(',"cost":{"input":1,"output":2,"reasoning":2.0}'), ['p']).notes, [])
  t.strictSame(rowOf(',"cost":{"input":1,"output":2,"cache_write":1}')?.price?.cacheWritePico, 1_000_000)
  t.strictSame(rowOf(',"cost":{"input":1,"output":2,"cache_write":0.99}')?.price?.cacheWritePico, undefined)
})

t.test('audio has its own price if it differs from that of text', async (t) => {
  t.match(source.providers.gemini?.['gemini-2.5-flash'],
    { input: ['text', 'image', 'audio', 'video', 'file'], price: { inputPico: 300_000, audioInputPico: 1_000_000 } })
  const rates = '"input":1,"output":2,"input_audio":1,"output_audio":2.5'
  const audio = withModel(`,"cost":{${rates}}`).replace('"input":["text"]', '"input":["text","audio","pdf"]')
  const row = readCatalogueSource(audio, ['p']).providers.p?.m
  t.same(row?.input, ['text', 'audio', 'file'])
  t.match(row?.price, { inputPico: 1_000_000, audioInputPico: undefined, audioOutputPico: 2_500_000 })
  t.equal(rowOf(',"cost":{"input":1,"output":2,"input_audio":0.0000001}')?.price, undefined, 'one that cannot be held')
})

t.test('the output of a model decides its kind', async (t) => {
  const kinds = Object.entries(source.providers).flatMap(([id, rows]) => {
    return Object.entries(rows).map(([name, { kind }]) => `${kind} ${id}/${name}`)
  })
  t.same(kinds.filter((line) => !line.startsWith('chat')).toSorted(), [
    'image gemini/gemini-2.5-flash-image',
    'image openai/gpt-image-1.5',
    'image openrouter/google/gemini-3-pro-image',
    'image vercel/openai/gpt-image-1',
    'other gemini/gemini-2.5-flash-preview-tts',
    'other groq/whisper-large-v3',
    'other mistral/mistral-embed',
    'other nvidia/baai/bge-m3',
    'other openai/text-embedding-3-small',
    'video xai/grok-imagine-video'
  ])
})

t.test('only the given providers are read, and those without data are reported', async (t) => {
  const { providers, notes } = readCatalogueSource(fixture, ['together', 'openai', 'missing'])
  t.same(Object.keys(providers), ['openai', 'together'])
  t.same(notes, ['missing: no data'])
})

t.test('another structure is rejected with its location', async (t) => {
  t.throws(() => readCatalogueSource('{', ['p']), SyntaxError)
  t.throws(() => readCatalogueSource('[]', ['p']), TypeError)
  t.throws(() => readCatalogueSource('{"p":{}}', ['p']), { message: /^p does not have the structure.* at \/models/ })
  t.throws(() => rowOf(',"cost":{"input":-1,"output":2}'), { message: /\/models\/m\/cost/ })
})

t.test('the text is the same whatever the order of the source, with a line for each model', async (t) => {
  const head = { source: 's', license: 'l', date: 'd', units: 'u' }
  const text = catalogueText({ ...head, providers: source.providers })
  const turned = Object.fromEntries(Object.entries(source.providers).reverse()
    .map(([id, rows]) => [id, Object.fromEntries(Object.entries(rows).reverse())]))
  t.equal(catalogueText({ ...head, providers: turned }), text)
  t.strictSame(JSON.parse(text).providers.openai['gpt-4.1'], {
    kind: 'chat',
    input: ['text', 'image', 'file'],
    output: ['text'],
    features: ['tools', 'json_schema'],
    temperature: true,
    contextWindow: 1_047_576,
    maxOutput: 32_768,
    price: { inputPico: 2_000_000, outputPico: 8_000_000, cacheReadPico: 500_000 },
    released: '2025-04-14',
    knowledge: '2024-04'
  })
  t.equal(text.match(/^".*"kind":/gm)?.length, Object.values(source.providers).flatMap(Object.keys).length)
})
