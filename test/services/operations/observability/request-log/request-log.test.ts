import t from 'tap'
import type { Test } from 'tap'
import type { RequestSummary } from '../../../../../services/requests/request-summary.ts'
import { createRequestLog } from '../../../../../services/operations/observability/request-log/request-log.ts'
import type {
  RequestLogOptions
} from '../../../../../services/operations/observability/request-log/request-log.ts'
import { summarize } from '../../../../../services/operations/observability/request-log/summary.ts'
import { StoreUnavailable } from '../../../../../services/store/store.ts'
import type { Store } from '../../../../../services/store/store.ts'
import { createRequestRecord } from '../../../../../services/requests/request-record.ts'
import { createDatabase, forEachEngine } from '../../../../helpers/engines.ts'

const dayMs = 86_400_000

function open (t: Test, store: Store, options: Partial<RequestLogOptions> = {}) {
  const defaults = { sample: 1, keepMs: 7 * dayMs, onError: () => {}, flushMs: 60_000, monotonic: () => 1300 }
  const log = createRequestLog({ store, ...defaults, ...options })
  t.teardown(() => log.close())
  return log
}

function finished (
  more: Partial<RequestSummary> = {}, record: Partial<RequestSummary['record']> = {}
): RequestSummary {
  const usage = { prompt: 10, completion: 5 }
  const report = { usage } as unknown as RequestSummary['record']['report']
  return {
    id: 'req_1',
    key: { id: 'k1', account: 'acme' },
    method: 'POST',
    route: '/v1/chat/completions',
    operation: null,
    path: '/v1/chat/completions',
    status: 200,
    isClientGone: false,
    traceparent: null,
    sent: { body: null, headers: {} },
    startedMs: 1000,
    endedMs: 1300,
    record: {
      ...createRequestRecord(), model: 'm', provider: 'p', attempts: 1, report, costNano: 7, firstByteAtMs: 1100, ...record
    },
    ...more
  }
}

const all = { by: [], from: 0, to: Number.MAX_SAFE_INTEGER, limit: 100 }

forEachEngine(t, 'latencies, errors and cost are summed up by key, model and day', async (t, database) => {
  const store = await database.open()
  const time = { ms: 20_000 * dayMs }
  const log = open(t, store, { clock: () => time.ms })
  const other = { id: 'k2', account: 'other' }
  log.add(finished())
  log.add(finished({ endedMs: 1500 }))
  const nothing = { report: null, costNano: null, firstByteAtMs: null }
  log.add(finished({ status: 503 }, nothing))
  log.add(finished({ status: 429 }, { ...nothing, model: null, provider: null }))
  log.add(finished({ isClientGone: true }))
  log.add(finished({ key: null }))
  time.ms += dayMs
  log.add(finished({ key: other }, { failure: new Error('broke off') }))
  await log.flush()

  const [sum] = await summarize(store, all)
  t.match(sum, {
    requests: 6,
    refused: 1,
    failed: 2,
    clientGone: 1,
    promptTokens: 40,
    completionTokens: 20,
    costNano: 28,
    averageMs: 400,
    maxMs: 500,
    averageFirstByteMs: 100
  })
  const rows = await summarize(store, { ...all, by: ['key', 'model', 'day'] })
  t.match(rows, [
    { key: 'k1', model: '', day: '2024-10-04', requests: 1, refused: 1, averageMs: null },
    { key: 'k1', model: 'm', day: '2024-10-04', requests: 4, failed: 1, clientGone: 1 },
    { key: 'k2', model: 'm', day: '2024-10-05', requests: 1, failed: 1 }
  ])
  t.equal(rows.length, 3)
  const behind = { ...all, by: ['key', 'model', 'day'] as const, after: ['k1', 'm', '2024-10-04'] }
  t.match(await summarize(store, behind), [{ key: 'k2' }])
  t.match(await summarize(store, { ...all, account: 'other' }), [{ requests: 1 }])
  t.match(await summarize(store, { ...all, to: 20_000 * dayMs + 1 }), [{ requests: 5 }])
})

forEachEngine(t, 'what is too old is removed in small batches, the rest stays', async (t, database) => {
  const store = await database.open()
  const time = { ms: 20_000 * dayMs }
  const log = open(t, store, { clock: () => time.ms })
  for (let index = 0; index < 1200; index++) log.add(finished())
  await log.flush()
  time.ms += 6 * dayMs
  log.add(finished())
  await log.flush()
  t.equal(await log.prune(), 0)
  time.ms += dayMs + 1
  t.equal(await log.prune(), 1200)
  t.match(await summarize(store, all), [{ requests: 1 }])
})

t.test('on SQLite, what is too old is found by its time, without reading the rest', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const deletes = t.capture(store, 'run', store.run)
  await open(t, store).prune()
  const [sql = '', params] = deletes().at(-1)?.args ?? []
  const plan = await store.all<{ detail: string }>(`explain query plan ${sql.trim()}`, params)
  t.ok(plan.some(({ detail }) => detail.includes('USING COVERING INDEX request_log_at (at<?)')), JSON.stringify(plan))
})

forEachEngine(t, 'a part of the requests stands for all of them; failures are all kept', async (t, database) => {
  const store = await database.open()
  const numbers = [0.05, 0.5, 0.9, 0.15]
  const log = open(t, store, { sample: 0.1, random: () => numbers.shift() ?? 0.99 })
  for (let index = 0; index < 4; index++) log.add(finished())
  log.add(finished({ status: 500 }))
  await log.flush()
  t.match(await summarize(store, all), [{ requests: 11, failed: 1, costNano: 77 }])
})

forEachEngine(t, 'while the store is away rows wait, and are written once', async (t, database) => {
  const store = await database.open()
  let isAway = true
  const shaky: Store = {
    ...store,
    run: (sql, params) => isAway ? Promise.reject(new StoreUnavailable(null)) : store.run(sql, params),
    transaction: work => isAway ? Promise.reject(new StoreUnavailable(null)) : store.transaction(work)
  }
  const log = open(t, shaky)
  log.add(finished())
  await t.rejects(log.flush(), StoreUnavailable)
  isAway = false
  await Promise.all([log.flush(), log.flush()])
  t.match(await summarize(store, all), [{ requests: 1 }])
})

t.test('a row has the time at which its request ended, however long it has waited', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const log = open(t, store, { clock: () => 50_000, monotonic: () => 3300 })
  log.add(finished())
  await log.flush()
  t.same(await store.all('select at, total_ms from request_log'), [{ at: 48_000, total_ms: 300 }])
})

t.test('no index of what each request writes calls a function, for which SQLite would keep a journal', async t => {
  const store = await (await createDatabase(t, 'sqlite')).open()
  const indexes = await store.all<{ sql: string }>(`
    select sql from sqlite_schema where type = 'index' and sql is not null and tbl_name in ('request_log', 'entry')`)
  t.ok(indexes.length > 5)
  const parts = indexes.map(({ sql }) => sql.replace(/^create index \w+ on \w+/i, ''))
  t.same(parts.filter(part => /\w\(/.test(part)), [])
})
