import fc from 'fast-check'
import t from 'tap'
import { createPollRate } from '../../../../services/videos/runner/poll-rate.ts'

t.test('polls are spaced evenly, but for 50 ms that a busy process may have missed', async t => {
  const rate = createPollRate()
  t.same([0, 0, 100, 250, 251, 5000].map(nowMs => rate.take(nowMs, 4)), [0, 200, 100, 0, 199, 0])
})

t.test('less than one a second', async t => {
  const rate = createPollRate()
  t.same([0, 500, 4000].map(nowMs => rate.take(nowMs, 0.5)), [0, 1450, 0])
})

t.test('another number counts at once', async t => {
  const rate = createPollRate()
  rate.take(0, 1)
  t.same([0, 500].map(nowMs => rate.take(nowMs, 2)), [500, 450])
})

t.test('no second has more than its number and 50 ms, and none waits in vain', async () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 200 })
  fc.assert(fc.property(gaps, fc.integer({ min: 20, max: 400 }), (gaps, perSecond) => {
    const rate = createPollRate()
    const moments: number[] = []
    let nowMs = 0
    for (const gapMs of gaps) {
      nowMs += gapMs
      while (rate.take(nowMs, perSecond) === 0) moments.push(nowMs)
    }
    const most = perSecond * 1.05 + 1
    const inSecond = moments
      .map((atMs, index) => moments.slice(index).filter(other => other < atMs + 1000).length)
    // Gaps of up to 40 ms cost nothing.
    const least = Math.floor((nowMs - (gaps[0] ?? 0)) * perSecond / 1000)
    return inSecond.every(count => count <= most) && moments.length >= least
  }))
})

t.test('a provider that refuses polls gets half as many, and slowly more again', async t => {
  const rate = createPollRate()
  /** How many polls a second from `nowMs` on has room for. */
  const perSecond = (nowMs: number): number => {
    let count = 0
    for (let ms = 0; ms < 1000; ms++) if (rate.take(nowMs + ms, 100) === 0) count++
    return count
  }
  t.equal(perSecond(0), 105)
  rate.refuse(1000, 100)
  rate.refuse(1500, 100)
  const half = perSecond(2000)
  t.ok(half > 48 && half < 58, `refusals of the same second count once: ${half}`)
  rate.refuse(4000, 100)
  const quarter = perSecond(5000)
  t.ok(quarter > 25 && quarter < 34, `half of 53, and 1 more after a second: ${quarter}`)
  const later = perSecond(45_000)
  t.ok(later > 65 && later < 75, `a minute later: ${later}`)
  t.ok(perSecond(600_000) <= 105, 'never more than its number')
  for (let nowMs = 700_000; nowMs < 720_000; nowMs += 1000) rate.refuse(nowMs, 100)
  const least = perSecond(720_000)
  t.ok(least >= 2 && least < 10, `never none: ${least}`)
})
