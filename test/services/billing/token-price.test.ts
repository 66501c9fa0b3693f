import fc from 'fast-check'
import t from 'tap'
import { isMoreExpensive } from '../../../services/billing/price-compare.ts'
import { tokenCostNano, ratesFor, tokenPriceOf } from '../../../services/billing/token-price.ts'
import { thrown } from '../../helpers/thrown.ts'

const price = { inputPico: 150_000, outputPico: 600_000, cacheReadPico: 75_000, cacheWritePico: 187_500 }
const none = { imageNano: null, secondNano: null, cacheReadPico: null, cacheWritePico: null }

t.test('a cost is the exact sum of all tokens, rounded up once', async () => {
  const tokens = fc.nat(2_000_000)
  const pico = fc.nat(200_000_000)
  fc.assert(fc.property(tokens, tokens, tokens, tokens, pico, pico, pico, pico,
    (plain, cachedRead, cacheWrite, completion, inputPico, outputPico, cacheReadPico, cacheWritePico) => {
      const usage = { prompt: plain + cachedRead + cacheWrite, completion, cachedRead, cacheWrite }
      const exact = BigInt(plain) * BigInt(inputPico) + BigInt(cachedRead) * BigInt(cacheReadPico) +
        BigInt(cacheWrite) * BigInt(cacheWritePico) + BigInt(completion) * BigInt(outputPico)
      const cost = tokenCostNano(usage, { inputPico, outputPico, cacheReadPico, cacheWritePico })
      return BigInt(cost) === (exact + 999n) / 1000n
    }), { numRuns: 300 })
})

t.test('tokens kept for an hour cost what these cost, whatever part of the cache they are', async t => {
  const hour = { ...price, cacheWrite1hPico: 300_000 }
  const usage = { prompt: 100, completion: 0, cachedRead: 10, cacheWrite: 50, cacheWrite1h: 30 }
  t.equal(tokenCostNano(usage, hour), (40 * 150_000 + 10 * 75_000 + 20 * 187_500 + 30 * 300_000) / 1000)
  const all = (40 * 150_000 + 10 * 75_000 + 50 * 300_000) / 1000
  t.equal(tokenCostNano({ ...usage, cacheWrite1h: 99 }, hour), all)
  t.equal(tokenCostNano({ ...usage, cacheWrite: 0 }, hour), (90 * 150_000 + 10 * 75_000) / 1000)
  const of = (more: object) => tokenPriceOf({ id: 'm', price: { ...none, inputPico: 5, outputPico: 7, ...more } })
  t.equal(of({}).cacheWrite1hPico, 10, 'twice the input')
  t.equal(of({ cacheWritePico: 6 }).cacheWrite1hPico, 10)
  t.equal(of({ cacheWritePico: 12 }).cacheWrite1hPico, 12, 'never less than for five minutes')
  t.equal(of({ cacheWrite1hPico: 3 }).cacheWrite1hPico, 3)
  const tier = { aboveTokens: 9, inputPico: 8, outputPico: 9 }
  const tiers = [tier, { ...tier, aboveTokens: 99, cacheWrite1hPico: 4 }]
  t.match(of({ tiers }).tiers, [{ cacheWrite1hPico: 16 }, { cacheWrite1hPico: 4 }])
})

t.test('known costs', async t => {
  t.equal(tokenCostNano({ prompt: 0, completion: 0 }, price), 0, 'zero is a value')
  t.equal(tokenCostNano({ prompt: 1, completion: 0 }, price), 150)
  const reasoned = { prompt: 1000, completion: 500, cachedRead: 800, reasoning: 300 }
  t.equal(tokenCostNano(reasoned, price), 30_000 + 60_000 + 300_000)
  t.equal(tokenCostNano({ prompt: 1, completion: 0 }, { ...price, inputPico: 1 }), 1, 'a fraction of a nano-dollar is one')
  t.equal(tokenCostNano({ prompt: 10, completion: 0, cachedRead: 99 }, price), 750, 'more cached than asked is all cached')
})

t.test('no count of tokens has a cost that cannot be booked', async t => {
  const most = 2 ** 32
  const usage = { prompt: most, completion: most, cachedRead: most, audioInput: most, audioOutput: most }
  for (const outputPico of [600_000, 9e12]) {
    const dear = { ...price, outputPico, audioInputPico: 1, audioOutputPico: outputPico }
    const cost = tokenCostNano(usage, dear)
    t.ok(Number.isSafeInteger(cost) && cost > 0, String(cost))
  }
})

t.test('a price that is not told is not zero', async t => {
  const noInput = { ...none, inputPico: null, outputPico: 1 }
  const noOutput = { ...none, inputPico: 1, outputPico: null }
  for (const price of [null, noInput, noOutput]) {
    t.match(thrown(() => tokenPriceOf({ id: 'm', price })), { status: 400, code: 'model_not_priced' })
  }
  t.strictSame(tokenPriceOf({ id: 'm', price: { ...none, inputPico: 0, outputPico: 0 } }),
    { inputPico: 0, outputPico: 0, cacheReadPico: 0, cacheWritePico: 0, cacheWrite1hPico: 0 })
  const plain = { ...none, inputPico: 5, outputPico: 7 }
  t.match(tokenPriceOf({ id: 'm', price: plain }), { cacheReadPico: 5, cacheWritePico: 5 })
})

const tiered = {
  ...price,
  tiers: [
    { ...price, aboveTokens: 1000, inputPico: 300_000, outputPico: 900_000, cacheReadPico: 150_000 },
    { ...price, aboveTokens: 5000, inputPico: 600_000, outputPico: 1_200_000, cacheReadPico: 300_000 }
  ]
}

t.test('a long prompt has the price of its tier, for every token', async t => {
  const cost = (prompt: number, more = {}) => tokenCostNano({ prompt, completion: 100, ...more }, tiered)
  t.equal(cost(1000), 150_000 + 60_000)
  t.equal(cost(1001), 300_300 + 90_000)
  t.equal(cost(5001), 3_000_600 + 120_000)
  t.equal(cost(2000, { cachedRead: 1500 }), 150_000 + 225_000 + 90_000, 'cached tokens count as prompt')
  t.match(ratesFor(tiered, 5000), { inputPico: 300_000 })
})

t.test('tiers without prices for the cache charge it as input', async t => {
  const tiers = [{ aboveTokens: 10, inputPico: 2, outputPico: 3 }]
  const full = { ...none, inputPico: 1, outputPico: 1, audioInputPico: 5, tiers }
  t.match(tokenPriceOf({ id: 'm', price: full }).tiers,
    [{ aboveTokens: 10, cacheReadPico: 2, cacheWritePico: 2, audioInputPico: 5 }])
})

t.test('audio has its own price where there is one', async t => {
  const usage = { prompt: 100, completion: 50, audioInput: 80, audioOutput: 40 }
  t.equal(tokenCostNano(usage, price), tokenCostNano({ prompt: 100, completion: 50 }, price))
  const spoken = { ...price, audioInputPico: 1_000_000, audioOutputPico: 2_000_000 }
  t.equal(tokenCostNano(usage, spoken), 20 * 150 + 80 * 1000 + 10 * 600 + 40 * 2000)
  const wrong = { ...usage, audioInput: 500, audioOutput: 500 }
  t.equal(tokenCostNano(wrong, spoken), 100 * 1000 + 50 * 2000, 'no more than there is')
  t.equal(tokenCostNano({ ...usage, cachedRead: 60 }, spoken), 60 * 75 + 40 * 1000 + 10 * 600 + 40 * 2000)
})

t.test('dearer is what costs more for the prompt or for the answer', async t => {
  const plain = { ...none, inputPico: 100, outputPico: 400 }
  const at = (inputPico: number | null, outputPico: number | null, more = {}) => {
    return { ...plain, inputPico, outputPico, ...more }
  }
  t.equal(isMoreExpensive(at(100, 400), [plain], 1), false)
  t.equal(isMoreExpensive(at(101, 1), [plain], 1), true)
  t.equal(isMoreExpensive(at(1, 401), [plain], 1), true)
  t.equal(isMoreExpensive(at(101, 1), [plain, at(200, 1)], 1), false, 'the dearest deployment counts')
  t.equal(isMoreExpensive(at(null, 1), [plain], 1), true)
  const tiers = [{ aboveTokens: 1000, inputPico: 150, outputPico: 400 }]
  t.equal(isMoreExpensive(at(90, 400, { tiers }), [plain], 1000), false)
  t.equal(isMoreExpensive(at(90, 400, { tiers }), [plain], 1001), true, 'for a prompt that may be so long')
})
