import fc from 'fast-check'
import t from 'tap'
import { nanoFromUsd } from '../../../../services/shared/money.ts'
import { nanoOf, requiredNanoOf, amountText } from '../../../../services/operations/admin/amounts.ts'
import { thrown } from '../../../helpers/thrown.ts'

t.test('an amount is given in one of two units', async t => {
  t.equal(nanoOf({ amount_usd: 0.1 }), 100_000_000)
  t.equal(nanoOf({ amount_usd: '0.1' }), 100_000_000)
  t.equal(nanoOf({ amount_nano: 7 }), 7)
  t.equal(nanoOf({}), undefined)
})

t.test('a wrong amount is refused with the name of its field', async t => {
  t.match(thrown(() => nanoOf({ amount_usd: 1, amount_nano: 1 })), { status: 400, param: 'amount_nano' })
  t.match(thrown(() => nanoOf({ amount_usd: 1e-10 })), { status: 400, param: 'amount_usd' })
  t.match(thrown(() => nanoOf({ amount_usd: 1e7 })), { status: 400, param: 'amount_usd' })
  t.match(thrown(() => nanoOf({ amount_nano: 2 ** 53 })), { status: 400, param: 'amount_nano' })
  t.match(thrown(() => requiredNanoOf({})), { status: 400, param: 'amount_usd', code: 'missing_required_parameter' })
})

t.test('what a number cannot say exactly has to be text', async t => {
  t.equal(nanoOf({ amount_usd: '9007199.254740991' }), Number.MAX_SAFE_INTEGER)
  t.match(thrown(() => nanoOf({ amount_usd: 9007199.254740991 })), { status: 400, param: 'amount_usd', message: /text/ })
  t.equal(nanoOf({ amount_usd: 9_007_199 }), 9_007_199_000_000_000)
  const below = fc.integer({ min: 1, max: 2 ** 23 * 1e9 - 1 })
  fc.assert(fc.property(below, nano => nanoOf({ amount_usd: Number(amountText(nano)) }) === nano))
})

t.test('formatted dollars are exact', async t => {
  t.equal(amountText(0), '0.00')
  t.equal(amountText(12_000_000_000), '12.00')
  t.equal(amountText(-1), '-0.000000001')
  t.equal(amountText(1_230_000_000), '1.23')
  t.equal(amountText(Number.MAX_SAFE_INTEGER), '9007199.254740991')
  fc.assert(fc.property(fc.maxSafeInteger(), nano => nanoFromUsd(amountText(nano)) === nano))
})
