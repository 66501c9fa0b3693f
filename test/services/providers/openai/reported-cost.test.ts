import fc from 'fast-check'
import t from 'tap'
import { openRouterCost, perplexityCost, xaiCost, type CostReader } from '../../../../services/providers/reported-cost.ts'

t.test('OpenRouter reports what it charges, and with an own key what the provider charges besides', async t => {
  t.equal(openRouterCost({ cost: 0.95, cost_details: { upstream_inference_cost: 19 } }), 950_000_000)
  const details = { upstream_inference_cost: 19 }
  t.equal(openRouterCost({ cost: 0.95, is_byok: true, cost_details: details }), 19_950_000_000)
  for (const details of [undefined, null, {}, { upstream_inference_cost: null }]) {
    t.equal(openRouterCost({ cost: 0.95, is_byok: true, cost_details: details }), null, 'the greater part is not known')
  }
})

t.test('xAI reports ticks, Perplexity a total in dollars', async t => {
  t.equal(xaiCost({ cost_in_usd_ticks: 37_756_000 }), 3_775_600)
  t.equal(perplexityCost({ cost: { input_tokens_cost: 0.001, total_cost: 0.008 } }), 8_000_000)
  t.equal(perplexityCost({ cost: 0.5 }), null)
})

t.test('whatever stands there, a cost is a whole number that the books can hold, or null', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.double(), fc.constantFrom(-1, 1e300, 2 ** 53, Infinity, '0.1'))
  const usage = fc.record({
    cost: fc.oneof(value, fc.record({ total_cost: value })),
    is_byok: fc.oneof(fc.boolean(), value),
    cost_details: fc.oneof(value, fc.record({ upstream_inference_cost: value })),
    cost_in_usd_ticks: value
  }, { requiredKeys: [] })
  const readers: CostReader[] = [openRouterCost, perplexityCost, xaiCost]
  fc.assert(fc.property(usage, usage => readers.every(read => {
    const nano = read(usage)
    return nano === null || (Number.isSafeInteger(nano) && nano >= 0)
  })))
})
