import t, { type Test } from 'tap'
import { createMetrics, type Metrics } from '../../../../../services/operations/observability/metrics/metrics.ts'
import { createMetricsSum } from '../../../../../services/operations/observability/metrics/sum.ts'

interface Figures { total: number, open: number, lag: number, ready: number }

function createWorker (t: Test, figures: Figures): Metrics {
  const metrics = createMetrics(error => t.fail(String(error)))
  metrics.counter({ name: 'done_total', help: 'Done.', labels: ['kind'] }, () => [{ labels: { kind: 'a' }, value: figures.total }])
  metrics.gauge({ name: 'open', help: 'Open.' }, () => figures.open)
  metrics.gauge({ name: 'lag_seconds', help: 'Lag.', across: 'max' }, () => figures.lag)
  metrics.gauge({ name: 'ready', help: 'Ready.', across: 'min' }, () => figures.ready)
  const observe = metrics.histogram({ name: 'took_seconds', help: 'Took.', bounds: [1, 2] })
  observe(figures.lag)
  return metrics
}

t.test('counters, gauges and distributions are summed, others are the largest or least', async t => {
  const sum = createMetricsSum()
  sum.update(1, await createWorker(t, { total: 3, open: 2, lag: 0.5, ready: 1 }).snapshot())
  sum.update(2, await createWorker(t, { total: 4, open: 1, lag: 1.5, ready: 0 }).snapshot())
  const text = await sum.text()
  for (const line of [
    'tollgate_done_total{kind="a"} 7', 'tollgate_open 3', 'tollgate_lag_seconds 1.5', 'tollgate_ready 0',
    'tollgate_took_seconds_bucket{le="1"} 1', 'tollgate_took_seconds_bucket{le="2"} 2', 'tollgate_took_seconds_count 2'
  ]) t.match(text, new RegExp(`^${line.replace(/[{}]/g, '\\$&')}$`, 'm'))
})

t.test('what a worker counted before it ended still counts; what it had under way does not', async t => {
  const sum = createMetricsSum()
  const figures = { total: 3, open: 2, lag: 0.5, ready: 1 }
  for (const worker of [1, 2, 3]) sum.update(worker, await createWorker(t, figures).snapshot())
  await sum.retire(1)
  await sum.retire(2)
  const text = await sum.text()
  for (const line of ['tollgate_done_total{kind="a"} 9', 'tollgate_open 2', 'tollgate_took_seconds_count 3']) {
    t.match(text, new RegExp(`^${line.replace(/[{}]/g, '\\$&')}$`, 'm'))
  }
})

t.test('workers that end at once are all counted, and no reading in between goes back', async t => {
  const sum = createMetricsSum()
  const figures = { total: 3, open: 2, lag: 0.5, ready: 1 }
  for (const worker of [1, 2, 3]) sum.update(worker, await createWorker(t, figures).snapshot())
  const retired = [sum.retire(1), sum.retire(2)]
  const during = await sum.text()
  await Promise.all(retired)
  for (const text of [during, await sum.text()]) t.match(text, /^tollgate_done_total\{kind="a"\} 9$/m)
})
