import fc from 'fast-check'
import t from 'tap'
import { createPollRate } from '../../../../services/videos/runner/poll-rate.ts'

t.test('as many as a second allows need not wait, and the next one does', async t => {
  const rate = createPollRate()
  t.same([0, 0, 0, 100].map(nowMs => rate.take(nowMs, 3)), [0, 0, 0, 900])
  t.equal(rate.take(5000, 3), 0, 'after a while there is room again')
})

t.test('less than one a second', async t => {
  const rate = createPollRate()
  t.same([0, 500, 4000].map(nowMs => rate.take(nowMs, 0.5)), [0, 1500, 0])
})

t.test('another number counts at once', async t => {
  const rate = createPollRate()
  rate.take(0, 1)
  t.same([0, 0, 0].map(nowMs => rate.take(nowMs, 2)), [0, 0, 1000])
})

t.test('no second has more than its number, and nobody waits while one has room', async () => {
  const gaps = fc.array(fc.integer({ min: 0, max: 600 }), { minLength: 1, maxLength: 100 })
  fc.assert(fc.property(gaps, fc.integer({ min: 1, max: 20 }), (gaps, perSecond) => {
    const rate = createPollRate()
    const moments: number[] = []
    const waits: number[] = []
    let nowMs = 0
    for (const gapMs of gaps) {
      nowMs += gapMs
      const waitMs = rate.take(nowMs, perSecond)
      waits.push(waitMs)
      moments.push(nowMs + waitMs)
    }
    return moments.every((momentMs, index) => {
      const before = moments[index - perSecond] ?? -Infinity
      const isFull = before + 1000 === momentMs
      return momentMs - before >= 1000 && (waits[index] === 0 || isFull)
    })
  }))
})
