import t from 'tap'
import { createStatistics } from '../../../../services/models/deployments/statistics.ts'
import type { NodeStatistics } from '../../../../services/models/deployments/statistics.ts'

const prior = { firstTokenMs: 1000, tokensPerSecond: 50 }

function statisticsAt (start = 1_000_000) {
  const time = { now: start }
  return { time, statistics: createStatistics(() => time.now) }
}

t.test('without calls the prior is expected', async t => {
  t.same(statisticsAt().statistics.expected(prior), { ...prior, errorRate: 0, calls: 0 })
})

t.test('many calls outweigh the prior, and the newest fifty weigh as much as all before', async t => {
  const { statistics } = statisticsAt()
  for (let i = 0; i < 1000; i++) statistics.recordFirstEvent(200)
  const before = statistics.expected(prior)
  t.ok(Math.abs(before.firstTokenMs - 200) < 60, String(before.firstTokenMs))
  t.ok(before.calls > 70 && before.calls < 73, String(before.calls))
  for (let i = 0; i < 50; i++) statistics.recordFirstEvent(2200)
  t.ok(Math.abs(statistics.expected({ ...prior, firstTokenMs: 1200 }).firstTokenMs - 1200) < 1)
})

t.test('the weight of calls halves every five minutes until the prior applies again', async t => {
  const { time, statistics } = statisticsAt()
  for (let i = 0; i < 1000; i++) statistics.recordFailure()
  const { calls, errorRate } = statistics.expected(prior)
  t.ok(errorRate > 0.9)
  time.now += 300_000
  t.ok(Math.abs(statistics.expected(prior).calls - calls / 2) < 0.01)
  time.now += 45 * 60_000
  const idle = statistics.expected(prior)
  t.ok(idle.calls < 0.2 && idle.errorRate < 0.05)
})

t.test('speed excludes the time to the first token where streams have shown it', async t => {
  const { statistics } = statisticsAt()
  for (let i = 0; i < 500; i++) {
    statistics.recordFirstEvent(1000)
    statistics.recordStreamEnd(200, 2000)
  }
  const speed = () => statistics.expected({ ...prior, tokensPerSecond: 100 }).tokensPerSecond
  t.ok(Math.abs(speed() - 100) < 1)
  for (let i = 0; i < 500; i++) statistics.recordResponse(200, 3000)
  t.ok(Math.abs(speed() - 100) < 1, 'a whole response of the same speed')
})

t.test('answers that stay slow become usual after two minutes, however many they are', async t => {
  const time = { now: 1_000_000 }
  const statistics = createStatistics(() => time.now, () => ({ slowFactor: 3, slowMinMs: 100 }))
  for (let count = 0; count < 64; count++) statistics.recordFirstEvent(50)
  const isSlowFor = (ms: number): boolean => {
    const untilMs = time.now + ms
    let isSlow = false
    for (; time.now < untilMs; time.now += 10) isSlow = statistics.recordFirstEvent(400)
    return isSlow
  }
  t.ok(isSlowFor(60_000))
  t.notOk(isSlowFor(90_000))
})

/** The statistics of two nodes, and a function that exchanges them. */
function nodes () {
  const time = { now: 1_000_000 }
  const both = [createStatistics(() => time.now), createStatistics(() => time.now)] as const
  const written = new Map<string, NodeStatistics>()
  function exchange () {
    for (const [index, statistics] of both.entries()) {
      const changed = statistics.takeChanges()
      if (changed !== null) written.set(`node-${index}`, changed)
      statistics.mergeRemote(new Map([...written].filter(([node]) => node !== `node-${index}`)))
    }
  }
  return { both, exchange }
}

t.test('two nodes that share statistics expect what a single node with all calls expects', async t => {
  const { both: [one, other], exchange } = nodes()
  const { statistics: single } = statisticsAt()
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 5; i++) {
      const [first, second] = [100 + round * 10, 300 + round * 10]
      one.recordFirstEvent(first)
      single.recordFirstEvent(first)
      other.recordFirstEvent(second)
      single.recordFirstEvent(second)
    }
    exchange()
  }
  exchange()
  const expected = single.expected(prior)
  for (const statistics of [one, other]) {
    const own = statistics.expected(prior)
    t.ok(Math.abs(own.firstTokenMs / expected.firstTokenMs - 1) < 0.03, `${own.firstTokenMs} and ${expected.firstTokenMs}`)
    t.ok(Math.abs(own.calls / expected.calls - 1) < 0.15, `${own.calls} and ${expected.calls}`)
  }
})

t.test('a node without calls of its own learns that a deployment became slow', async t => {
  const { both: [busy, idle], exchange } = nodes()
  for (let i = 0; i < 300; i++) idle.recordFirstEvent(100)
  exchange()
  exchange()
  for (let i = 0; i < 150; i++) busy.recordFirstEvent(5000)
  exchange()
  exchange()
  t.ok(idle.expected(prior).firstTokenMs > 3000, String(idle.expected(prior).firstTokenMs))
})

t.test('merging the same statistics again changes nothing, and only changes are taken', async t => {
  const { statistics } = statisticsAt()
  t.equal(statistics.takeChanges(), null)
  statistics.recordFirstEvent(100)
  const changed = statistics.takeChanges()
  t.equal(statistics.takeChanges(), null)
  const { statistics: reader } = statisticsAt()
  reader.recordFirstEvent(300)
  const others = new Map(changed === null ? [] : [['node', changed]])
  reader.mergeRemote(others)
  reader.takeChanges()
  for (let i = 0; i < 3; i++) reader.mergeRemote(others)
  t.ok(Math.abs(reader.expected(prior).calls - 2) < 0.05)
  t.equal(reader.takeChanges(), null)
})
