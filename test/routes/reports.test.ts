import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { buildAdmin } from './admin/helper.ts'

/** Every list, sum and check that is offered, to operators and to clients. */
const admin: ['GET' | 'POST', string][] = [
  ['GET', '/accounts'], ['GET', '/accounts/default'], ['GET', '/keys'], ['GET', '/keys?account=default'],
  ['GET', '/entries'], ['GET', '/entries?account=default&kind=usage'], ['GET', '/entries?from=2026-01-01'],
  ['GET', '/usage'], ['GET', '/usage?format=csv'], ['GET', '/usage?by=day&account=default'],
  ['GET', '/audit'], ['GET', '/audit?actor=env&action=key.update&from=2026-01-01'],
  ['GET', '/requests'], ['GET', '/requests?account=default'], ['GET', '/request-totals?by=model&account=default'],
  ['GET', '/alerts'], ['GET', '/statements?month=2026-10'], ['GET', '/statements?month=2026-10&account=default&format=csv'],
  ['GET', '/accounts/default/balance?at=2026-11-01'], ['GET', '/entries?format=csv&account=default'],
  ['GET', '/suspense'], ['GET', '/accounts/default/balance'],
  ['GET', '/statements?month=2026-01'], ['GET', '/statements?month=2026-01&account=default'],
  ['GET', '/jobs'], ['GET', '/jobs?state=live'], ['GET', '/jobs?model=m&delivered=no'],
  ['POST', '/ledger/check']
]
const client = ['/v1/dashboard/billing', '/v1/dashboard/billing/usage', '/v1/dashboard/billing/subscription']

/** A few entries by their numbers, as the gateway adds up what is new. */
const bounded = /entry\.seq > \$1 and entry\.seq <= \$2|max\(seq\)/
/**
 * Few rows: nodes, jobs under way, webhooks that are due, parents of an account, tables of one row, what a
 * statement was given.
 */
const small = new RegExp('^SCAN (CONSTANT|[0-9]|node$|line$|due$|job USING INDEX job_live|usage_progress|' +
  '[a-z_]+ VIRTUAL TABLE|[(]subquery)')

t.test('what scans a table never uses the connections of requests', async t => {
  const { app, key, ask } = await buildAdmin(t)
  const { store } = app
  const main = [t.capture(store, 'all', store.all), t.capture(store, 'get', store.get),
    t.capture(store, 'run', store.run)]
  const reports = t.capture(store.reports, 'all', store.reports.all)
  for (const [method, path] of admin) t.match(await ask(method, path), { status: 200 }, path)
  for (const url of client) {
    t.match(await app.inject({ url, headers: { authorization: `Bearer ${key}` } }), { statusCode: 200 }, url)
  }

  const onMain = new Set(main.flatMap(calls => calls().map(({ args: [sql] }) => sql)))
  const onReports = reports().map(({ args: [sql] }) => sql)
  const file = await store.get<{ file: string }>('select file from pragma_database_list')
  const database = new DatabaseSync(file?.file ?? '', { readOnly: true })
  t.teardown(() => database.close())
  database.function('now_ms', () => 0)
  const scansOf = (sql: string) => database.prepare(`explain query plan ${sql.trim().replaceAll('$', '?')}`).all()
    .map(({ detail }) => String(detail)).filter(detail => detail.startsWith('SCAN ') && !small.test(detail))

  for (const sql of onMain) {
    t.same(scansOf(sql), [], sql)
    if (!bounded.test(sql)) t.notMatch(sql, /\b(from|join) (entry|request_log)\b/, sql)
  }
  t.ok(onReports.some(sql => scansOf(sql).length > 0), 'the plans show scans')
})
