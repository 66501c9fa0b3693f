import t from 'tap'
import { createRecord } from '../../../services/deployments/record.ts'
import type { Measured } from '../../../services/deployments/record.ts'

const seed = { firstTokenMs: 1000, tokensPerSecond: 50 }

function recordAt (start = 1_000_000) {
  const time = { now: start }
  return { time, record: createRecord(() => time.now) }
}

t.test('what was never called is as the seed says', async t => {
  t.same(recordAt().record.expected(seed), { ...seed, errorRate: 0, calls: 0 })
})

t.test('many calls outweigh the seed, and the newest fifty weigh as much as all before', async t => {
  const { record } = recordAt()
  for (let i = 0; i < 1000; i++) record.started(200)
  const before = record.expected(seed)
  t.ok(Math.abs(before.firstTokenMs - 200) < 60, String(before.firstTokenMs))
  t.ok(before.calls > 70 && before.calls < 73, String(before.calls))
  for (let i = 0; i < 50; i++) record.started(2200)
  t.ok(Math.abs(record.expected({ ...seed, firstTokenMs: 1200 }).firstTokenMs - 1200) < 1)
})

t.test('five minutes without calls halve their weight, until the seed holds again', async t => {
  const { time, record } = recordAt()
  for (let i = 0; i < 1000; i++) record.failed()
  const { calls, errorRate } = record.expected(seed)
  t.ok(errorRate > 0.9)
  time.now += 300_000
  t.ok(Math.abs(record.expected(seed).calls - calls / 2) < 0.01)
  time.now += 45 * 60_000
  const idle = record.expected(seed)
  t.ok(idle.calls < 0.2 && idle.errorRate < 0.05)
})

t.test('speed is that of writing, without the wait for the first token where that is known', async t => {
  const { record } = recordAt()
  for (let i = 0; i < 500; i++) {
    record.started(1000)
    record.streamed(200, 2000)
  }
  const speed = () => record.expected({ ...seed, tokensPerSecond: 100 }).tokensPerSecond
  t.ok(Math.abs(speed() - 100) < 1)
  for (let i = 0; i < 500; i++) record.answered(200, 3000)
  t.ok(Math.abs(speed() - 100) < 1, 'a whole answer of the same speed')
})

/** Two records that tell each other what they have measured. */
function nodes () {
  const time = { now: 1_000_000 }
  const records = [createRecord(() => time.now), createRecord(() => time.now)] as const
  const said = new Map<string, Measured>()
  function exchange () {
    for (const [index, record] of records.entries()) {
      const measured = record.take()
      if (measured !== null) said.set(`node-${index}`, measured)
      record.hear(new Map([...said].filter(([node]) => node !== `node-${index}`)))
    }
  }
  return { time, records, exchange }
}

t.test('two nodes expect together what one would that had made all calls', async t => {
  const { records: [one, other], exchange } = nodes()
  const { record: single } = recordAt()
  for (let round = 0; round < 40; round++) {
    for (let i = 0; i < 5; i++) {
      const [first, second] = [100 + round * 10, 300 + round * 10]
      one.started(first)
      single.started(first)
      other.started(second)
      single.started(second)
    }
    exchange()
  }
  exchange()
  const expected = single.expected(seed)
  for (const record of [one, other]) {
    const own = record.expected(seed)
    t.ok(Math.abs(own.firstTokenMs / expected.firstTokenMs - 1) < 0.03, `${own.firstTokenMs} and ${expected.firstTokenMs}`)
    t.ok(Math.abs(own.calls / expected.calls - 1) < 0.15, `${own.calls} and ${expected.calls}`)
  }
})

t.test('a node that makes no calls hears of a slow deployment from one that does', async t => {
  const { records: [busy, idle], exchange } = nodes()
  for (let i = 0; i < 300; i++) idle.started(100)
  exchange()
  exchange()
  for (let i = 0; i < 150; i++) busy.started(5000)
  exchange()
  exchange()
  t.ok(idle.expected(seed).firstTokenMs > 3000, String(idle.expected(seed).firstTokenMs))
})

t.test('telling the same again changes nothing, and nothing is told that has not changed', async t => {
  const { record } = recordAt()
  t.equal(record.take(), null)
  record.started(100)
  const measured = record.take()
  t.equal(record.take(), null)
  const { record: listener } = recordAt()
  listener.started(300)
  const told = new Map(measured === null ? [] : [['node', measured]])
  listener.hear(told)
  listener.take()
  for (let i = 0; i < 3; i++) listener.hear(told)
  t.ok(Math.abs(listener.expected(seed).calls - 2) < 0.05)
  t.equal(listener.take(), null)
})
