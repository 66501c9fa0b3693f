import t from 'tap'
import { forEachEngine } from '../../helpers/engines.ts'
import { buildGateway } from '../../helpers/gateway.ts'
import { seed } from '../../helpers/seed.ts'
import type { Store, Value } from '../../../services/store/store.ts'
import { adminKey, asker } from './helper.ts'

/** Tables that grow with the traffic, or with the number of customers. */
const large = [
  'request_log', 'entry', 'usage_day', 'movement', 'account', 'api_key', 'job', 'media', 'audit', 'alert', 'hold'
]
const rows = {
  keys: 5_000, requests: 20_000, media: 5_000, jobs: 5_000, accounts: 5_000, entries: 20_000, audit: 5_000
}
/** Of a page of 20 rows; the providers' latest calls are those of 2,000 requests. */
const maxRowsRead = 2_000

const thisMonth = new Date().toISOString().slice(0, 7)
const period = 'from=2020-01-01&to=2020-01-02'
/** Paths with each filter, once with a value that no row has: that may not take reading every row. */
const cases: Record<string, string[]> = {
  '/requests': [
    '', 'account=default', 'account=none', 'key=seed7', 'key=none', 'model=chat', 'model=none', 'provider=up', 'provider=none',
    'status=200', 'status=429', 'status=2xx', 'status=5xx', 'outcome=succeeded', 'outcome=client_gone', 'outcome=refused',
    'outcome=failed', 'outcome=broken_off', period, 'model=none&provider=up', 'account=default&model=none',
    'model=chat&provider=none', 'outcome=error', 'failed_at=none', 'failed_at=up&outcome=error', ...['', 'account=default&', 'key=seed7&', 'model=chat&', 'provider=up&', 'status=2xx&',
      'status=5xx&', 'outcome=succeeded&', 'outcome=failed&'].map(filter => `${filter}to=2020-01-02`)
  ],
  '/requests/{id}': [''],
  '/request-totals': [`${period}&by=model`],
  '/usage': [`${period}&by=day`, `${period}&account=none`, `${period}&key=none`],
  '/entries': ['', 'account=default', 'account=none', 'kind=refund', 'kind=usage', 'account=none&kind=usage', period,
    `month=${thisMonth}`, 'month=2020-01&account=none', 'month=2020-01&kind=usage'],
  '/holds': ['account=default', 'account=seed7'],
  '/accounts': ['', 'search=seeded', 'search=none'],
  '/accounts/{id}': [''],
  '/accounts/{id}/balance': ['', 'at=2020-01-02T00:00:00Z', 'at=2020-01-02T03:00:00Z'],
  '/accounts/{id}/webhook-secret': [''],
  '/keys': ['', 'account=default', 'account=none', 'search=seeded', 'search=none', 'search=seeded&account=default'],
  '/keys/{id}': [''],
  '/jobs': [
    '', 'account=default', 'account=none', 'model=video', 'model=none', 'state=succeeded', 'state=failed', 'state=live',
    'delivered=no', 'delivered=yes', 'search=job_none'
  ],
  '/jobs/{id}': [''],
  '/media': ['', 'account=default', 'account=none', 'kind=image', 'kind=video', 'account=none&kind=video'],
  '/audit': ['', 'actor=none', 'action=none', 'target=none', period],
  '/alerts': [''],
  '/suspense': ['', 'state=open', 'account=none'],
  '/statements': ['month=2020-01', 'month=2020-01&account=default', `month=${thisMonth}`, `month=${thisMonth}&account=default`],
  '/providers': [''],
  '/me': ['']
}
/** Reports that read all entries since their period began. */
const exceptions = ['/statements', '/accounts/{id}/balance']
/** What streams, and has a test of its own. */
const others = ['/live']
const ids: Record<string, string> = { requests: 'req_seed7', accounts: 'default', keys: 'seed7', jobs: 'job_seed7' }

forEachEngine(t, 'every list of the admin API reads rows by an index, whatever its filter', async (t, { engine, url }) => {
  const { app } = await buildGateway(t, { env: { DATABASE_URL: url, TOLLGATE_ADMIN_KEY: adminKey } })
  await seed(app.store, rows)
  if (engine === 'postgres') await app.store.run('analyze')
  const admin = asker(app)
  const { paths } = (await app.inject({ url: '/openapi.json' })).json<{ paths: Record<string, { get?: object }> }>()
  const documented = Object.entries(paths)
    .flatMap(([path, item]) => path.startsWith('/admin/') && item.get !== undefined ? [path.slice('/admin'.length)] : [])
  t.same(documented.toSorted(), [...Object.keys(cases), ...others].toSorted(), 'every list is in this test')
  const asked = recordQueries(app.store)
  for (const [path, queries] of Object.entries(cases)) {
    const place = path.replace('{id}', ids[path.split('/')[1] ?? ''] ?? '')
    for (const query of queries) {
      const paged = ['{id}', '/me', '/providers'].some(part => path.includes(part)) ? query : `${query}&limit=20`
      asked.length = 0
      const { status, text } = await admin('GET', `${place}?${paged.replace(/^&/, '')}`)
      t.equal(status, 200, `${path}?${paged}: ${status === 200 ? '' : text}`)
      const walksEntries = engine === 'sqlite' && path === '/entries' && query.includes('account=')
      const isException = walksEntries || exceptions.includes(path)
      for (const { sql, params } of isException ? [] : [...asked]) {
        const problem = await problemOf(app.store, sql, params, isCommon(query))
        if (problem !== null) t.fail(`${path}?${query}`, { problem, sql })
      }
    }
  }
})

interface Asked { sql: string, params: readonly Value[] }

/** Records the reads of a store from now on. */
function recordQueries (store: Store): Asked[] {
  const asked: Asked[] = []
  for (const queries of [store, store.reports]) {
    for (const name of ['all', 'get'] as const) {
      const ask = queries[name]
      queries[name] = async <Row> (sql: string, params: readonly Value[] = []) => {
        if (/^\s*(select|with)\b/.test(sql)) asked.push({ sql, params })
        return await ask<Row>(sql, params) as never
      }
    }
  }
  return asked
}

/** What is wrong with the plan of a query, null if nothing is. */
async function problemOf (
  { engine, reports }: Store, sql: string, params: readonly Value[], mayWalk: boolean
): Promise<string | null> {
  if (engine === 'sqlite') {
    const plan = (await reports.all<{ detail: string }>(`explain query plan ${sql}`, params)).map(({ detail }) => detail)
    const isOrdered = !plan.some(detail => detail.includes('USE TEMP B-TREE FOR ORDER BY'))
    const walk = plan.some(detail => large.some(table => isWalk(detail, table)))
    return !walk || (mayWalk && isOrdered) ? null : plan.join('\n')
  }
  const [row] = await reports.all<{ 'QUERY PLAN': string }>(`explain (analyze, format json) ${sql}`, params)
  const plan: { Plan: PlanNode }[] = JSON.parse(row?.['QUERY PLAN'] ?? '[]')
  const read = plan.flatMap(({ Plan }) => nodesOf(Plan)).filter(node => large.includes(node['Relation Name'] ?? ''))
    .map(node => ({ node, count: rowsRead(node) }))
  const most = read.find(({ count }) => count > maxRowsRead)
  return most === undefined ? null : `${most.count} rows of ${most.node['Relation Name']}\n${JSON.stringify(plan, null, 1)}`
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

function nodesOf (node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)]
}

function rowsRead (node: PlanNode): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
}

/** Whether a table is read in its own order, or an index from one end; or all of it, to make an index. */
function isWalk (detail: string, table: string): boolean {
  const walks = [`SCAN ${table}\\b`, `SEARCH ${table} USING INTEGER PRIMARY KEY \\(rowid[<>]\\?\\)`]
  return new RegExp(`^(${walks.join('|')}|SEARCH ${table} USING AUTOMATIC)`).test(detail)
}

/** Whether the newest rows fill the page: there is no filter, or one that most rows pass. */
function isCommon (query: string): boolean {
  return ['', 'kind=usage', 'status=200', 'status=2xx', 'outcome=succeeded', 'delivered=yes'].includes(query)
}
