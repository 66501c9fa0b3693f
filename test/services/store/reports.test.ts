import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { openStore } from '../../../services/store/open.ts'
import { createReportThread } from '../../../services/store/sqlite-reports.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'
import type { Reports } from '../../../services/store/store.ts'
import { createDatabase, forEachEngine } from '../../helpers/engines.ts'
import { runningMs } from '../../helpers/running-time.ts'

/** A read that takes as long as counting to `rows`, some 10 million a second. */
const counting = (rows: number) => `
  with recursive counter (n) as (select 1 union all select n + 1 from counter where n < ${rows})
  select max(n) as most from counter`

async function openFile (t: Test, reportLimits: { timeoutMs: number, maxWaiting: number }) {
  const store = await openSqlite(join(t.testdir(), 'notes.db'), { reportLimits })
  t.teardown(() => store.close())
  await store.run('create table note (id bigint primary key, text text)')
  return store
}

/** Not reached on a machine that does much else. */
const usual = { timeoutMs: 110_000, maxWaiting: 100 }

/** Resolves once the thread answers: on a busy machine its start may take longer than a read may. */
async function isAnswered (store: { reports: Reports }): Promise<void> {
  while (await store.reports.get('select 1').then(() => false, () => true)) await sleep(10)
}

forEachEngine(t, 'a report sees what is committed, with parameters', async (t, database) => {
  const store = await database.open()
  await store.run('create table note (id bigint primary key, text text)')
  await store.run("insert into note (id, text) values (1, 'a'), (2, 'b')")
  t.same(await store.reports.all('select id, text from note where id > $1 order by id', [1]), [{ id: 2, text: 'b' }])
  t.same(await store.reports.get('select cast(count(*) as bigint) as count from note'), { count: 2 })
  t.equal(await store.reports.get('select id from note where id = 3'), undefined)
  await store.run('delete from note where id = 1')
  t.same(await store.reports.all('select id from note'), [{ id: 2 }])
})

forEachEngine(t, 'errors of a report are those of any statement', async (t, database) => {
  const store = await database.open()
  const wrong = await store.reports.all('select nothing from account').catch((error: unknown) => error)
  t.match(wrong, { problem: 'refused', cause: { message: /nothing/ } })
  await t.rejects(store.reports.get('select cast(9007199254740993 as bigint) as large'), RangeError)
  await t.rejects(store.reports.get('select $1', [1e300]), RangeError)
  t.same(await store.reports.get('select 1 as one'), { one: 1 })
})

t.test('a long report does not hold up other statements', async t => {
  const store = await openFile(t, usual)
  // Starts the thread.
  await store.reports.get('select 1')
  const beganMs = performance.now()
  const report = store.reports.get(counting(4_000_000))
  let [rounds, worstMs] = [0, 0]
  while (await Promise.race([report, null]) === null) {
    const startedMs = performance.now()
    await store.run('insert into note (id) values ($1)', [++rounds])
    await store.get('select text from note where id = $1', [rounds])
    await sleep(1)
    worstMs = Math.max(worstMs, performance.now() - startedMs)
  }
  t.same(await report, { most: 4_000_000 })
  t.ok(rounds > 20, `${rounds} rounds`)
  const reportMs = performance.now() - beganMs
  t.ok(worstMs < reportMs / 3, `the slowest took ${worstMs} of ${reportMs} ms`)
})

t.test('a report cannot write', async t => {
  const store = await openFile(t, usual)
  await t.rejects(store.reports.all('insert into note (id) values (1) returning id'), { cause: { message: /readonly/ } })
})

t.test('a report that takes too long ends as StoreUnavailable, and later ones are answered', async t => {
  const store = await openFile(t, { timeoutMs: 250, maxWaiting: 100 })
  await isAnswered(store)
  const startedMs = runningMs()
  await t.rejects(store.reports.get(counting(10_000_000)), { name: 'StoreUnavailable', problem: 'slow' })
  t.ok(runningMs() - startedMs < 750, 'without waiting for its end')
  await isAnswered(store)
})

t.test('the number of waiting reports is bounded, and so is their wait', async t => {
  const store = await openFile(t, { timeoutMs: 250, maxWaiting: 2 })
  await isAnswered(store)
  const asked = [counting(6_000_000), 'select 1', 'select 2', 'select 3'].map(sql => store.reports.get(sql))
  const [long, ...others] = await Promise.allSettled(asked)
  t.match(long, { status: 'rejected', reason: { problem: 'slow' } })
  t.match(others.at(-1), { status: 'rejected', reason: { name: 'StoreUnavailable', problem: 'crowded' } })
})

t.test('a thread that crashes fails its report only', async t => {
  const source = `const { parentPort } = await import('node:worker_threads')
    parentPort.on('message', ({ sql }) => {
      if (sql === 'crash') throw new Error('crashed')
      parentPort.postMessage({ rows: [{ one: 1 }] })
    })`
  const program = new URL(`data:text/javascript,${encodeURIComponent(source)}`)
  const thread = createReportThread('unused', { ...usual, program })
  t.teardown(() => thread.close())
  const [first, crashed, last] = await Promise.allSettled(['', 'crash', ''].map(sql => thread.get(sql)))
  t.match(first, { status: 'fulfilled' })
  t.match(crashed, { status: 'rejected', reason: { name: 'StoreUnavailable', cause: { message: 'crashed' } } })
  t.match(last, { value: { one: 1 } })
})

t.test('closing ends the reports that run or wait', async t => {
  const store = await openFile(t, usual)
  await store.reports.get('select 1')
  const asked = Promise.allSettled([counting(3_000_000), 'select 1'].map(sql => store.reports.get(sql)))
  await store.close()
  for (const outcome of await asked) t.match(outcome, { status: 'rejected', reason: { name: 'StoreUnavailable' } })
  await t.rejects(store.reports.get('select 1'), { name: 'StoreUnavailable' })
})

t.test('reports on Postgres leave the connections of other statements alone', async t => {
  const { url } = await createDatabase(t, 'postgres')
  const store = await openStore(`${url}&pool=1`)
  t.teardown(() => store.close())
  await Promise.all([store.get('select 1'), store.reports.get('select 1')])
  let isDone = false
  const reports = Promise.all([1, 2, 3].map(() => store.reports.get('select pg_sleep(0.5)')))
    .finally(() => { isDone = true })
  t.same(await store.get('select 1 as one'), { one: 1 })
  t.notOk(isDone)
  await reports
})
