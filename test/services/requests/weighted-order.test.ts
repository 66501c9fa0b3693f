import t from 'tap'
import { weightedOrder } from '../../../services/requests/candidates.ts'
import { createRandom } from '../ledger/random.ts'
import { candidate } from './helper.ts'

t.test('the lower priority goes first, whatever the weights', async t => {
  const last = candidate({ priority: 7, weight: 100 })
  const first = candidate({ priority: 0, weight: 1 })
  const middle = candidate({ priority: 3, weight: 50 })
  const random = createRandom(1)
  for (let i = 0; i < 20; i++) {
    t.same(weightedOrder([last, first, middle], random.next), [first, middle, last])
  }
})

t.test('within a priority each comes first as often as its weight says', async t => {
  const candidates = [candidate({ weight: 3 }), candidate({ weight: 1 }), candidate({ weight: 0 })]
  const random = createRandom(2)
  const firsts = [0, 0, 0]
  const count = 4000
  for (let i = 0; i < count; i++) {
    const order = weightedOrder(candidates, random.next)
    if (order.length !== 3) t.fail(`${order.length} instead of 3`)
    if (order[2] !== candidates[2]) t.fail('what has no weight is only a substitute')
    const first = candidates.indexOf(order[0] ?? candidate())
    firsts[first] = (firsts[first] ?? 0) + 1
  }
  const [heavy = 0, light = 0] = firsts
  t.equal(heavy + light, count)
  t.ok(Math.abs(heavy / count - 0.75) < 0.03, `${heavy} of ${count}`)
})

t.test('the bounds of randomness lead to somebody, as does no weight at all', async t => {
  const two = [candidate(), candidate()]
  t.same(weightedOrder(two, () => 0), two)
  t.same(weightedOrder(two, () => 1 - Number.EPSILON), two.toReversed())
  const weightless = [candidate({ weight: 0 }), candidate({ weight: 0 })]
  t.same(weightedOrder(weightless, () => 0.5), weightless)
})
