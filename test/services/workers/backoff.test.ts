import t from 'tap'
import { createBackoff } from '../../../services/workers/backoff.ts'

t.test('a worker is replaced at once, then after longer and longer pauses, until one has run for a minute', async t => {
  const backoff = createBackoff()
  const delays = Array.from({ length: 9 }, () => backoff.delayMs(1_000))
  t.same(delays, [0, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  t.equal(backoff.delayMs(60_000), 0)
  t.equal(backoff.delayMs(59_999), 500)
})
