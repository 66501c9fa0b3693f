import fc from 'fast-check'
import t from 'tap'
import { assertSafe, nanoFromPico, nanoFromUsd, usdFromNano } from '../../../services/shared/money.ts'
import { amounts, notAmounts } from '../../helpers/amount-cases.ts'

// From here on neighbouring amounts share a JavaScript number in US dollars.
const exactLimitNano = 2 ** 23 * 1e9

t.test('dollars become nano-USD by their decimals', async (t) => {
  const cases: [string | number, number][] = [
    ...amounts.map(([text, nano]): [string, number] => [text, nano]),
    ['-2.5', -2_500_000_000], ['-1,250', -1_250_000_000_000], ['007', 7_000_000_000], ['0.1000000000000', 100_000_000], ['0', 0], ['0.0', 0], ['-0', 0], [-0, 0],
    [0.1, 100_000_000], [1.1, 1_100_000_000], [1e-9, 1], [-2.5e-8, -25], [4.35, 4_350_000_000], [1e6, 1e15]
  ]
  for (const [usd, nano] of cases) t.equal(nanoFromUsd(usd), nano, String(usd))
})

t.test('what is no exact amount is refused, with what to write instead', async (t) => {
  for (const [text, message] of notAmounts) t.throws(() => nanoFromUsd(text), message, text)
  const cases = [
    1e-10, -1e-10, 0.1 + 0.2, 1e21, -1e21, 1e300, Infinity, NaN, '', ' ', ' 5', '5 ', '5\n', '.', ',', '1,', ',500', '00,123',
    '1e', '--1', '1 2', '9'.repeat(61), '9'.repeat(1e6)
  ]
  for (const usd of cases) t.throws(() => nanoFromUsd(usd), RangeError, String(usd).slice(0, 80))
})

t.test('an amount survives the way to dollars and back', async () => {
  const amounts = fc.integer({ min: -exactLimitNano, max: exactLimitNano })
  fc.assert(fc.property(amounts, (nano) => nanoFromUsd(usdFromNano(nano)) === nano))
})

t.test('a decimal text gives exactly its digits', async () => {
  const parts = fc.tuple(fc.nat({ max: 9_007_198 }), fc.nat({ max: 999_999_999 }))
  fc.assert(fc.property(parts, ([dollars, nano]) =>
    nanoFromUsd(`${dollars}.${String(nano).padStart(9, '0')}`) === dollars * 1e9 + nano))
})

t.test('dollars for JSON are the number that is written with the same digits', async () => {
  const parts = fc.tuple(fc.nat({ max: 8_388_607 }), fc.nat({ max: 999_999_999 }))
  fc.assert(fc.property(parts, ([dollars, nano]) =>
    usdFromNano(dollars * 1e9 + nano) === Number(`${dollars}.${String(nano).padStart(9, '0')}`)))
})

t.test('a cost above the safe integers becomes their largest', async t => {
  for (const [pico, nano] of [[0, 0], [1, 1], [1000, 1], [1001, 2], [9e15, 9e12], [9.1e15, 9.1e12]]) {
    t.equal(nanoFromPico(pico ?? 0), nano)
  }
  for (const pico of [1e19, 1e300, Infinity]) t.equal(nanoFromPico(pico), Number.MAX_SAFE_INTEGER)
})

t.test('amounts outside the safe integers are refused', async (t) => {
  for (const amount of [2 ** 53, -(2 ** 53), 0.5, NaN, Infinity]) {
    t.throws(() => assertSafe(amount), RangeError, String(amount))
    t.throws(() => usdFromNano(amount), RangeError, String(amount))
  }
  t.equal(assertSafe(Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
})
