import t from 'tap'
import { lowerHalfOf, mean, spreadOf, standardErrorOf } from '../../bench/statistics.ts'
import { createRandom } from '../services/billing/ledger/random.ts'

t.test('the standard error of a mean matches the textbook formula', async (t) => {
  const values = [3, 7, 8, 12, 20]
  const variance = values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1)
  const expected = Math.sqrt(variance / values.length)
  t.ok(Math.abs(standardErrorOf(values, mean) - expected) < 1e-9)
})

t.test('a figure independent of the observations has no error', async (t) => {
  t.equal(standardErrorOf([1, 2, 3], () => 5), 0)
  t.ok(Number.isNaN(standardErrorOf([1], mean)), 'one observation tells nothing')
})

t.test('a standard error approximates the deviation between samples', async (t) => {
  const random = createRandom(7)
  const figure = (some: readonly number[]) => mean(lowerHalfOf(some))
  const samples = Array.from({ length: 200 }, () => Array.from({ length: 60 }, random.next))
  const figures = samples.map(figure)
  const center = mean(figures)
  const actual = Math.sqrt(mean(figures.map(value => (value - center) ** 2)))
  const told = mean(samples.map(sample => standardErrorOf(sample, figure)))
  t.ok(told > actual * 0.8 && told < actual * 1.25, `${told} for ${actual}`)
})

t.test('the median of an even number of values is between two', async (t) => {
  t.same(spreadOf([4, 1, 3, 2]), { middle: 2.5, min: 1, max: 4 })
  t.same(lowerHalfOf([5, 1, 4]), [1, 4])
})
