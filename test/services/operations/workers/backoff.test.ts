import t from 'tap'
import { createBackoff } from '../../../../services/operations/workers/backoff.ts'

t.test('a worker is replaced at once, then after longer and longer pauses, until one has run for 10 s', async t => {
  const backoff = createBackoff()
  const delays = Array.from({ length: 8 }, () => backoff.delayMs(1_000))
  t.same(delays, [0, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000])
  t.equal(backoff.delayMs(10_000), 0)
  t.equal(backoff.delayMs(9_999), 500)
})
