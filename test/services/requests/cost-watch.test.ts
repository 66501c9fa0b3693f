import t from 'tap'
import { createCostWatch, isCostMismatch, type ReportedCost } from '../../../services/requests/cost-watch.ts'
import { createLog } from '../billing/ledger/helper.ts'

t.test('a reported cost may differ by a share, and by what rounding makes of it', async t => {
  const cases: [number, number, boolean][] = [
    [100_000, 105_000, false],
    [100_000, 105_264, true],
    [100_000, 95_000, false],
    [100_000, 94_999, true],
    [0, 1_000, false],
    [0, 1_001, true],
    [1_001, 0, true],
    [0, 0, false],
    [Number.MAX_SAFE_INTEGER, 0, true]
  ]
  for (const [expectedNano, reportedNano, differs] of cases) {
    t.equal(isCostMismatch({ expectedNano, reportedNano }, 0.05), differs, `${expectedNano} ${reportedNano}`)
  }
})

t.test('every mismatch is counted, and logged once per model of a provider and hour', async t => {
  const log = createLog()
  const seen: ReportedCost[] = []
  const time = { now: 0 }
  const watch = createCostWatch({
    tolerance: () => 0.05, log, onMismatch: cost => { seen.push(cost) }, monotonic: () => time.now
  })
  const report = (model: string, reportedNano = 9_000) => watch({ provider: 'p', model, expectedNano: 1_000, reportedNano })
  for (const model of ['a', 'a', 'b']) report(model)
  report('a', 1_000)
  t.equal(seen.length, 3)
  t.match(log.lines.map(({ level, details }) => [level, details]), [
    ['warn', { provider: 'p', model: 'a', expectedNano: 1_000, reportedNano: 9_000 }], ['warn', { model: 'b' }]
  ])
  time.now = 3_599_999
  report('a')
  t.equal(log.lines.length, 2)
  time.now = 3_600_000
  report('a')
  t.equal(log.lines.length, 3)
  for (let model = 0; model < 3_000; model++) report(`m${model}`)
  t.equal(seen.length, 3_005)
})
