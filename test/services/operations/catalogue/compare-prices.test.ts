import t from 'tap'
import type { CatalogueRow } from '../../../../services/config/catalogue/catalogue-file.ts'
import { compareRows, keptPrices } from '../../../../services/operations/catalogue/compare-prices.ts'

const row = (prices: Partial<CatalogueRow>): CatalogueRow => {
  return { kind: 'video', input: ['text'], output: ['video'], features: [], released: '2026-11-01', ...prices }
}
const second = (nano: number, size?: string) => ({ ...(size && { size }), secondNano: nano })

t.test('prices per second and image are compared by size, quality and sound', async t => {
  const before = row({ videoPrices: [second(10, '1280x720'), second(20)] })
  t.equal(compareRows(before, row({ videoPrices: [second(20), second(10, '1280x720')] })), null)
  t.equal(compareRows(before, row({ videoPrices: [second(11, '1280x720'), second(20)] })), 'risen')
  t.equal(compareRows(before, row({ videoPrices: [second(11, '1280x720'), second(19)] })), 'fallen')
  t.equal(compareRows(before, row({ videoPrices: [second(30)] })), 'fallen', 'a price that goes')
  const images = (imageNano: number, furtherMegapixelNano = 0) =>
    row({ imagePrices: [{ imageNano, furtherMegapixelNano }] })
  t.equal(compareRows(images(5, 5), images(6, 4)), 'fallen')
  t.equal(compareRows(images(5), images(6)), 'risen')
})

t.test('a row without a price is added to, and one that loses its price has fallen', async t => {
  t.equal(compareRows(undefined, row({})), 'added')
  t.equal(compareRows(row({}), row({})), null)
  t.equal(compareRows(row({}), row({ videoPrices: [second(1)] })), 'added')
  t.equal(compareRows(row({ videoPrices: [second(1)] }), row({})), 'fallen')
  t.equal(compareRows(row({ price: { inputPico: 1, outputPico: 1 } }), row({})), 'fallen')
})

t.test('a kept row has the dearer rates by the token, and its present prices of media', async t => {
  const before = row({ price: { inputPico: 4, outputPico: 1 }, videoPrices: [second(10)] })
  const kept = keptPrices(before, row({ price: { inputPico: 2, outputPico: 3 }, videoPrices: [second(5)] }))
  t.match(kept, { price: { inputPico: 4, outputPico: 3 }, videoPrices: [second(10)] })
  t.same(keptPrices(row({ videoPrices: [second(10)] }), row({})), { videoPrices: [second(10)] })
})
