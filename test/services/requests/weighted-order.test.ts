import t from 'tap'
import { conversationOrder, weightedOrder } from '../../../services/requests/candidates.ts'
import { createRandom } from '../billing/ledger/random.ts'
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
  t.same(weightedOrder(two, () => 1 - Number.EPSILON), two)
  const weightless = [candidate({ weight: 0 }), candidate({ weight: 0 })]
  t.same(weightedOrder(weightless, () => 0.5), weightless)
})

const seed = Number(process.env.SEED ?? 20_261)

t.test('conversations are spread by weight, and so are those of a deployment that is out', async t => {
  const candidates = [1, 2, 3, 6, 0.5].map(weight => candidate({ weight }))
  const weights = candidates.map(({ deployment }) => deployment.weight)
  const random = createRandom(seed)
  const count = 20_000
  const pairs = new Map<string, number>()
  for (let n = 0; n < count; n++) {
    const order = conversationOrder(candidates, `key-${random.integer(0, 1e6)} ${n}`, 0)
    const [first = -1, second = -1] = order.map(one => candidates.indexOf(one))
    pairs.set(`${first} ${second}`, (pairs.get(`${first} ${second}`) ?? 0) + 1)
  }
  const total = weights.reduce((sum, weight) => sum + weight)
  let chiSquare = 0
  for (const [first, weight] of weights.entries()) {
    for (const [second, other] of weights.entries()) {
      if (first === second) continue
      const expected = count * weight / total * other / (total - weight)
      chiSquare += ((pairs.get(`${first} ${second}`) ?? 0) - expected) ** 2 / expected
    }
  }
  // 20 pairs: above 45.3 once in a thousand runs with other seeds.
  t.ok(chiSquare < 45.3, `chi-square ${chiSquare.toFixed(1)}, seed ${seed}`)
})

t.test('when a deployment goes, only its conversations move; when one comes, they only move there', async t => {
  const all = [1, 2, 1, 3].map(weight => candidate({ weight }))
  const [gone] = all
  const left = all.slice(1)
  for (let n = 0; n < 2000; n++) {
    const before = conversationOrder(all, `key ${n}`, 0)
    const after = conversationOrder(left.toReversed(), `key ${n}`, 0)
    if (before.filter(one => one !== gone).some((one, at) => one !== after[at])) t.fail(`${n} moved`)
  }
})

t.test('the order of a conversation has priorities first and no weight last', async t => {
  const none = candidate({ weight: 0 })
  const [one, two, later] = [candidate(), candidate(), candidate({ priority: 1 })]
  for (let n = 0; n < 50; n++) {
    const order = conversationOrder([none, later, one, two], `key ${n}`, 0)
    t.same(new Set(order.slice(0, 2)), new Set([one, two]))
    t.same(order.slice(2), [none, later])
  }
})

t.test('a deployment with far more calls than its share goes behind those of its priority', async t => {
  const [home, other, none] = [candidate(), candidate(), candidate({ weight: 0 })]
  const conversation = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find(text =>
    conversationOrder([home, other], text, 0)[0] === home) ?? ''
  const order = () => conversationOrder([home, other, none], conversation, 0)
  t.same(order(), [home, other, none])
  home.health.calls = 20
  t.same(order(), [home, other, none], 'a few are no reason')
  home.health.calls = 60
  t.same(order(), [other, home, none])
  other.health.calls = 50
  t.same(order(), [home, other, none], 'all are busy')
  other.health.calls = 0
  other.health.breaker.pause(1000, 0)
  t.same(order(), [home, other, none], 'the other one rests')
})
