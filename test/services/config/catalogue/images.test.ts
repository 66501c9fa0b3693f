import { readFileSync } from 'node:fs'
import t from 'tap'
import { knownProviders } from '../../../../schemas/config/known-providers.ts'
import { checkRequest, parseSize } from '../../../../services/images/check-request.ts'
import { catalogueModel, catalogueModelNames, modelFromCatalogue } from '../../../../services/config/catalogue/models.ts'
const text = readFileSync(new URL('../../../../services/config/catalogue/images.json', import.meta.url), 'utf8')
interface Providers { providers: Record<string, { source: string, models: Record<string, object> }> }

const file: Providers = JSON.parse(text)
const models = Object.entries(file.providers).flatMap(([provider, { models }]) => {
  return Object.keys(models).map(name => modelFromCatalogue(provider, name))
})

t.test('every row is an image model of a known provider, and accepts its own sizes', async t => {
  const known = new Set(knownProviders.map(({ id }) => id))
  for (const [provider, { source }] of Object.entries(file.providers)) {
    t.ok(known.has(provider), provider)
    t.ok(source.length > 5, `${provider} says where its rows are from`)
  }
  for (const { id, kind, images, created } of models) {
    t.equal(kind, 'image', id)
    t.ok(created > 1_600_000_000, `${id} has a date`)
    for (const size of [...images?.sizes ?? [], images?.defaultSize ?? 'auto']) {
      const wanted = checkRequest({ model: id, prompt: 'x', size }, { id, ...(images && { images }) })
      t.same(wanted.size, parseSize(size), `${id} ${size}`)
    }
  }
})

t.test('prices are integers, and those of tokens come in pairs', async t => {
  for (const { id, price, images } of models) {
    const { prices = [], tokens = [] } = images ?? {}
    const numbers = prices.flatMap(({ imageNano, furtherMegapixelNano }) => [imageNano, furtherMegapixelNano])
    t.ok([...numbers, ...tokens.map(row => row.tokens)].every(Number.isSafeInteger), id)
    if (price === null || price.imageNano !== null) continue
    t.ok(price.inputPico !== null && price.outputPico !== null && images?.tokens.length !== 0, id)
  }
})

t.test('well-known models are listed by each provider\'s name for them', async t => {
  t.match(catalogueModel('bfl', 'flux-2-pro'), { kind: 'image', price: null, images: { defaultSize: '1024x1024' } })
  t.match(catalogueModel('openai', 'gpt-image-1-mini-2025-10-06')?.price, { inputPico: 2_000_000, outputPico: 8_000_000 })
  t.match(catalogueModel('openrouter', 'google/gemini-3-pro-image'), {
    price: { outputPico: 120_000_000 }, images: { textOutputPico: 12_000_000 }
  }, 'image tokens have another price than the text tokens in models.json')
  for (const name of ['google/gemini-3.1-flash-lite-image', 'openai/gpt-5-image']) {
    t.equal(catalogueModel('openrouter', name)?.price, null, 'no price rather than a wrong one')
  }
  t.ok(catalogueModelNames('fal').includes('fal-ai/flux/dev'))
  t.ok(catalogueModelNames('openai').includes('gpt-image-2'))
})
