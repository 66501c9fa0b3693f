import t from 'tap'
import { familyCost } from '../../../../services/config/catalogue/family-price.ts'
import { createModelRegistry } from '../../../../services/models/registry.ts'
import { configFromEnvironment } from '../../../../services/config/environment/environment.ts'
import { describeModel } from '../../../../services/models/describe.ts'

const priced = (name: string, inputPico: number, outputPico: number) =>
  ({ name, price: { inputPico, outputPico } })
const models = [
  priced('gpt-6', 2, 9), priced('gpt-7-mini', 3, 8), priced('gpts-1', 99, 99), priced('claude-opus-5', 5, 25),
  priced('claude-sonnet-5', 3, 15), priced('free-1', 0, 0), priced('openai/gpt-6', 20, 90)
]

t.test('the dearest of each rate of the same maker and family counts', async t => {
  const cases: [string, number[] | undefined][] = [
    ['gpt-8', [3, 9]], ['gpt-8-sol', [3, 9]], ['claude-opus-9', [5, 25]],
    ['claude-nova-1', [5, 25]], ['openai/gpt-8', [20, 90]],
    ['other-1', undefined], ['free-2', undefined], ['', undefined], ['9', undefined], ['meta/gpt-8', undefined]
  ]
  for (const [name, rates] of cases) {
    const price = familyCost(name, models)?.price
    t.same(price && [price.inputPico, price.outputPico], rates, name)
  }
})

t.test('it is used only if the operator says so, and marked', async t => {
  const config = configFromEnvironment({ OPENAI_API_KEY: 'sk-test' })
  const unknown = 'openai/gpt-99-test'
  t.equal(createModelRegistry(config).resolve(unknown)?.model.price, null)
  const model = createModelRegistry({ ...config, unpriced: 'family' }).resolve(unknown)?.model
  t.ok((model?.price?.outputPico ?? 0) >= 50_000_000)
  t.match(model && describeModel(model), { pricing_basis: 'family' })
  const own = createModelRegistry({ ...config, unpriced: 'family' }).resolve('openai/gpt-4.1')?.model
  t.match(own, { price: { inputPico: 2_000_000 }, priceBasis: undefined })
})
