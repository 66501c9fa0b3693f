import fc from 'fast-check'
import t from 'tap'
import { exactCents, exactUsd } from '../../../../services/operations/reports/exact-json.ts'
import { nanoFromUsd, usdFromNano } from '../../../../services/shared/money.ts'

t.test('amounts are printed exactly, without trailing zeros', async (t) => {
  const cases: [number, string, string][] = [
    [0, '0', '0'],
    [1, '0.000000001', '0.0000001'],
    [-1, '-0.000000001', '-0.0000001'],
    [1_500_000_000, '1.5', '150'],
    [12_000_000_003, '12.000000003', '1200.0000003'],
    [10_000_000_000, '10', '1000'],
    [Number.MAX_SAFE_INTEGER, '9007199.254740991', '900719925.4740991'],
    [-Number.MAX_SAFE_INTEGER, '-9007199.254740991', '-900719925.4740991']
  ]
  for (const [nano, usd, cents] of cases) {
    t.equal(JSON.stringify({ usd: exactUsd(nano) }), `{"usd":${usd}}`)
    t.equal(JSON.stringify([exactCents(nano)]), `[${cents}]`)
  }
  for (const wrong of [0.5, NaN, 2 ** 53]) t.throws(() => exactUsd(wrong), RangeError)
})

const nano = fc.integer({ min: -Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER })

t.test('every amount round-trips to the nano-dollar, and parses to the nearest double', async () => {
  fc.assert(fc.property(nano, (nano) => {
    const text = JSON.stringify(exactUsd(nano))
    return nanoFromUsd(text) === nano && Number(text) === usdFromNano(nano) && /^-?\d+(\.\d{0,8}[1-9])?$/.test(text)
  }), { numRuns: 2_000 })
})

t.test('the rest and the spent amount add up to the credits', async () => {
  const parts = fc.tuple(fc.nat(Number.MAX_SAFE_INTEGER), fc.double({ min: 0, max: 1, noNaN: true }))
  fc.assert(fc.property(parts, ([credits, share]) => {
    const spent = Math.floor(credits * share)
    const [left, gone] = [credits - spent, spent].map((nano) => nanoFromUsd(JSON.stringify(exactUsd(nano))))
    return (left ?? 0) + (gone ?? 0) === credits
  }), { numRuns: 2_000 })
})
