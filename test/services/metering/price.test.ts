import fc from 'fast-check'
import t from 'tap'
import { costNano, tokenPriceOf } from '../../../services/metering/price.ts'
import { thrown } from '../../thrown.ts'

const price = { inputPico: 150_000, outputPico: 600_000, cacheReadPico: 75_000, cacheWritePico: 187_500 }
const none = { imageNano: null, secondNano: null, cacheReadPico: null, cacheWritePico: null }

t.test('a cost is the exact sum of all tokens, rounded up once', async t => {
  const tokens = fc.nat(2_000_000)
  const pico = fc.nat(200_000_000)
  fc.assert(fc.property(tokens, tokens, tokens, tokens, pico, pico, pico, pico,
    (plain, cachedRead, cacheWrite, completion, inputPico, outputPico, cacheReadPico, cacheWritePico) => {
      const usage = { prompt: plain + cachedRead + cacheWrite, completion, cachedRead, cacheWrite }
      const exact = BigInt(plain) * BigInt(inputPico) + BigInt(cachedRead) * BigInt(cacheReadPico) +
        BigInt(cacheWrite) * BigInt(cacheWritePico) + BigInt(completion) * BigInt(outputPico)
      const cost = costNano(usage, { inputPico, outputPico, cacheReadPico, cacheWritePico })
      t.equal(BigInt(cost), (exact + 999n) / 1000n)
    }), { numRuns: 300 })
})

t.test('known costs', async t => {
  t.equal(costNano({ prompt: 0, completion: 0 }, price), 0, 'zero is a value')
  t.equal(costNano({ prompt: 1, completion: 0 }, price), 150)
  const reasoned = { prompt: 1000, completion: 500, cachedRead: 800, reasoning: 300 }
  t.equal(costNano(reasoned, price), 30_000 + 60_000 + 300_000)
  t.equal(costNano({ prompt: 1, completion: 0 }, { ...price, inputPico: 1 }), 1, 'a fraction of a nano-dollar is one')
  t.equal(costNano({ prompt: 10, completion: 0, cachedRead: 99 }, price), 750, 'more cached than asked is all cached')
})

t.test('a price that is not told is not zero', async t => {
  const noInput = { ...none, inputPico: null, outputPico: 1 }
  const noOutput = { ...none, inputPico: 1, outputPico: null }
  for (const price of [null, noInput, noOutput]) {
    t.match(thrown(() => tokenPriceOf({ id: 'm', price })), { status: 400, code: 'model_not_priced' })
  }
  t.strictSame(tokenPriceOf({ id: 'm', price: { ...none, inputPico: 0, outputPico: 0 } }),
    { inputPico: 0, outputPico: 0, cacheReadPico: 0, cacheWritePico: 0 })
  const plain = { ...none, inputPico: 5, outputPico: 7 }
  t.match(tokenPriceOf({ id: 'm', price: plain }), { cacheReadPico: 5, cacheWritePico: 5 })
})
