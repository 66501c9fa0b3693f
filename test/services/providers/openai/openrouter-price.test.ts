import t from 'tap'
import { openRouterCostOf } from '../../../../services/providers/openai/openrouter-price.ts'

t.test('texts in USD per token become pico-USD, rounded up', async t => {
  t.same(openRouterCostOf({
    prompt: '0.0000003',
    completion: '0.0000000333331',
    input_cache_read: '0.00000003',
    input_cache_write: '3.75e-7',
    input_cache_write_1h: '0.0000006',
    audio: '0.000001',
    audio_output: '0.000002',
    web_search: '0.005',
    discount: 0.5
  }), {
    price: {
      inputPico: 300_000,
      outputPico: 33_334,
      cacheReadPico: 30_000,
      cacheWritePico: 375_000,
      cacheWrite1hPico: 600_000,
      audioInputPico: 1_000_000,
      audioOutputPico: 2_000_000
    },
    searchNano: 5_000_000
  })
  t.same(openRouterCostOf({ prompt: '0', completion: '0', request: '0', image: '0' }), { price: { inputPico: 0, outputPico: 0 } })
})

t.test('thoughts that cost more than other output raise its price', async t => {
  const cost = openRouterCostOf({ prompt: '0.000001', completion: '0.000002', internal_reasoning: '0.000003' })
  t.equal(cost?.price?.outputPico, 3_000_000)
})

t.test('a router, a fee per request or picture and what is no price leave a model unpriced', async t => {
  const rates = { prompt: '0.000001', completion: '0.000002' }
  const cases: unknown[] = [
    undefined, null, '0', {}, { prompt: '-1', completion: '-1' }, { prompt: '0.000001' }, { ...rates, completion: 'free' },
    { ...rates, completion: '' }, { ...rates, request: '0.01' }, { ...rates, request: 'x' }, { ...rates, image: '0.001' },
    { ...rates, audio: '-1' }, { ...rates, overrides: [{ min_prompt_tokens: 'many', prompt: '0.1' }] }
  ]
  for (const pricing of cases) t.equal(openRouterCostOf(pricing), undefined, JSON.stringify(pricing))
})

t.test('overrides by length become tiers, and those by time apply at any time if they are dearer', async t => {
  const rates = { prompt: '0.000001', completion: '0.000002' }
  t.same(openRouterCostOf({
    ...rates,
    overrides: [
      { min_prompt_tokens: 200_000, prompt: '0.000004' },
      { utc_start: 100, utc_end: 400, completion: '0.000005' },
      { utc_start: 400, utc_end: 800, prompt: '0.0000005' }
    ]
  }), {
    price: { inputPico: 1_000_000, outputPico: 5_000_000 },
    tiers: [{ inputPico: 4_000_000, outputPico: 5_000_000, aboveTokens: 200_000 }]
  })
})
