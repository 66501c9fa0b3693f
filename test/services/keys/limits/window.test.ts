import fc from 'fast-check'
import t from 'tap'
import { leftOf, minuteMs, resetOf, rolled, waitFor } from '../../../../services/keys/limits/window.ts'

t.test('the previous minute counts in proportion to its overlap with the last 60 seconds', async t => {
  const window = { minute: 10, used: 20, previous: 60 }
  const at = (seconds: number) => leftOf(window, 100, 10 * minuteMs + seconds * 1000)
  t.same([at(0), at(15), at(30), at(60)], [20, 35, 50, 80])
  t.same(rolled(window, 11), { minute: 11, used: 0, previous: 20 })
  t.same(rolled(window, 12), { minute: 12, used: 0, previous: 0 })
  t.same(rolled(window, 9), window)
  t.equal(resetOf(window, 10 * minuteMs + 15_000), 105_000)
  t.equal(resetOf({ ...window, used: 0 }, 10 * minuteMs + 15_000), 45_000)
  t.equal(resetOf({ ...window, used: 0, previous: 0 }, 10 * minuteMs), 0)
})

t.test('there is enough after the time to wait, and not a tenth of a second sooner', async () => {
  const amounts = fc.integer({ min: 0, max: 1000 })
  fc.assert(fc.property(amounts, amounts, fc.integer({ min: 1, max: 1000 }), fc.nat(59_999), fc.nat(),
    (used, previous, limit, offsetMs, wish) => {
      const need = 1 + wish % limit
      const nowMs = 10 * minuteMs + offsetMs
      const window = { minute: 10, used, previous }
      const waitMs = waitFor(window, limit, need, nowMs)
      const leftAfter = (ms: number) =>
        leftOf(rolled(window, Math.floor((nowMs + ms) / minuteMs)), limit, nowMs + ms)
      const isEnough = leftAfter(waitMs + 100) >= need
      return isEnough && (waitMs <= 100 || leftAfter(waitMs - 100) < need || leftAfter(0) >= need)
    }), { numRuns: 2000 })
})
