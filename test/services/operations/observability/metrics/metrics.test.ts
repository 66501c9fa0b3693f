import t from 'tap'
import { createMetrics } from '../../../../../services/operations/observability/metrics/metrics.ts'
import { maxAccountSeries } from '../../../../../services/operations/observability/metrics/accounts.ts'
import { maxSeries } from '../../../../../services/operations/observability/metrics/requests.ts'
import { createRequestRecord } from '../../../../../services/requests/request-record.ts'

const finished = {
  id: 'r',
  key: null,
  method: 'POST',
  route: '/v1/chat/completions',
  operation: null,
  path: '/v1/chat/completions',
  status: 200,
  isClientGone: false,
  traceparent: null,
  sent: { body: null, headers: {} },
  startedMs: 1000,
  endedMs: 1200
}

/** The value of a sample, by its name and labels as they are printed. */
function sample (text: string, name: string): number | undefined {
  const line = text.split('\n').find(line => line.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length))
}

t.test('a request is counted with its latency, tokens and cost', async t => {
  const metrics = createMetrics(error => t.fail(String(error)))
  const trace = {
    ...createRequestRecord(), model: 'chat', provider: 'up', attempts: 2, costNano: 2_500_000_000, firstByteAtMs: 1030
  }
  metrics.request({ ...finished, record: trace })
  metrics.request({ ...finished, record: trace, isClientGone: true, endedMs: 700_000 })
  const text = await metrics.text()
  const labels = 'route="/v1/chat/completions",model="chat",provider="up"'
  t.equal(sample(text, `tollgate_requests_total{${labels},status="200"}`), 1)
  t.equal(sample(text, `tollgate_requests_total{${labels},status="client_gone"}`), 1)
  t.equal(sample(text, `tollgate_cost_usd_total{${labels}}`), 5)
  t.equal(sample(text, `tollgate_provider_calls_total{${labels}}`), 4)
  const duration = 'tollgate_request_duration_seconds'
  t.equal(sample(text, `${duration}_bucket{le="0.1",${labels}}`), 0)
  t.equal(sample(text, `${duration}_bucket{le="0.25",${labels}}`), 1)
  t.equal(sample(text, `${duration}_bucket{le="600",${labels}}`), 1)
  t.equal(sample(text, `${duration}_bucket{le="+Inf",${labels}}`), 2)
  t.equal(sample(text, `${duration}_count{${labels}}`), 2)
  t.equal(sample(text, `tollgate_first_byte_seconds_bucket{le="0.05",${labels}}`), 2)
})

t.test('however many models there are, the metrics stay few', async t => {
  const metrics = createMetrics(error => t.fail(String(error)))
  for (let index = 0; index < maxSeries + 50; index++) {
    metrics.request({ ...finished, record: { ...createRequestRecord(), model: `model-${index}`, provider: 'up' } })
  }
  const text = await metrics.text()
  const series = text.split('\n').filter(line => line.startsWith('tollgate_requests_total{'))
  t.equal(series.length, maxSeries + 1)
  t.equal(sample(text, 'tollgate_requests_total{route="/v1/chat/completions",model="other",provider="other",status="200"}'), 50)
})

t.test('accounts and keys have labels only if that is asked for, and no more than that many', async t => {
  const trace = { ...createRequestRecord(), model: 'chat', provider: 'up', costNano: 1_000_000_000 }
  const keys = Array.from({ length: 30 }, (_, index) => ({ id: `key_${index}`, account: `team-${index % 10}` }))
  const textWith = async (bounds?: { accounts: number, keys: number }) => {
    const metrics = createMetrics(error => t.fail(String(error)), bounds)
    for (const key of keys) metrics.request({ ...finished, key, record: trace })
    metrics.request({ ...finished, record: trace })
    return await metrics.text()
  }
  const plain = await textWith()
  t.notMatch(plain, /account|team-|key_/)

  const both = await textWith({ accounts: 4, keys: 7 })
  const valuesOf = (text: string, label: string) => new Set([...text.matchAll(new RegExp(`${label}="([^"]*)"`, 'g'))].map(([, value]) => value))
  t.same(valuesOf(both, 'account'), new Set(['team-0', 'team-1', 'team-2', 'team-3', 'other']))
  t.same(valuesOf(both, 'key').size, 7 + 1)
  t.equal(sample(both, 'tollgate_account_cost_usd_total{account="team-0",key="key_0",model="chat"}'), 1)
  t.equal(sample(both, 'tollgate_account_requests_total{account="team-0",key="other",model="chat",status="200"}'), 2)
  const counted = [...both.matchAll(/^tollgate_account_requests_total\{.*\} (\d+)$/gm)]
  t.equal(counted.reduce((sum, [, count]) => sum + Number(count), 0), keys.length, 'none is lost')
  t.equal(sample(both, 'tollgate_account_request_duration_seconds_count{account="other"}'), 18)

  const accounts = await textWith({ accounts: 100, keys: 0 })
  t.equal(valuesOf(accounts, 'account').size, 10)
  t.notMatch(accounts, /key_/)
})

t.test('models of many accounts are counted together beyond a bound', async t => {
  const metrics = createMetrics(error => t.fail(String(error)), { accounts: 10, keys: 0 })
  for (let index = 0; index < maxAccountSeries + 20; index++) {
    const trace = { ...createRequestRecord(), model: `model-${index}` }
    metrics.request({ ...finished, key: { id: 'k', account: 'team' }, record: trace })
  }
  const text = await metrics.text()
  t.equal(sample(text, 'tollgate_account_requests_total{account="team",model="other",status="200"}'), 20)
})

t.test('parts add their own; one that cannot be read does not hide the others', async t => {
  const failures: string[] = []
  const metrics = createMetrics((_error, name) => failures.push(name))
  metrics.gauge({ name: 'jobs', help: 'By state.', labels: ['state'] },
    async () => [{ labels: { state: 'queued' }, value: 3 }, { labels: { state: 'running' }, value: 0 }])
  metrics.gauge({ name: 'broken', help: 'Cannot be read.' }, () => { throw new Error('away') })
  let polls = 0
  metrics.counter({ name: 'polls_total', help: 'Polls.' }, () => polls)
  const observe = metrics.histogram({ name: 'flush_seconds', help: 'Time.', bounds: [0.1, 1] })
  observe(0.5)
  polls = 7
  const text = await metrics.text()
  t.equal(sample(text, 'tollgate_jobs{state="queued"}'), 3)
  t.equal(sample(text, 'tollgate_jobs{state="running"}'), 0)
  t.equal(sample(text, 'tollgate_polls_total'), 7)
  t.equal(sample(text, 'tollgate_flush_seconds_bucket{le="1"}'), 1)
  t.equal(sample(text, 'tollgate_flush_seconds_sum'), 0.5)
  t.same(failures, ['broken'])
  t.match(text, /^nodejs_eventloop_lag_p99_seconds /m)
})
