import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { startPostgresProcess } from '../chaos/postgres.ts'
import { startGateway } from '../helpers/gateway.ts'
import { seed } from '../helpers/seed.ts'

// Measures what each page of the console asks `/admin` for, with many rows, over HTTP. Fails above the limit.

const usage = `node test/console/scale.ts
  --long             100,000 keys, 1 million requests and entries, 10,000 jobs, instead of a tenth of them
  --engine <name>    sqlite or postgres; default both
  --limit <ms>       default 1000`

const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    engine: { type: 'string' },
    limit: { type: 'string', default: '1000' },
    help: { type: 'boolean', default: false }
  }
})

const sizes = {
  keys: 100_000,
  requests: 1_000_000,
  entries: 1_000_000,
  jobs: 10_000,
  media: 10_000,
  accounts: 10_000,
  audit: 10_000
}
const adminKey = `sk-admin-${'0'.repeat(24)}`
const dayMs = 86_400_000
const thisMonth = new Date().toISOString().slice(0, 7)
const quarterAgo = new Date(Date.now() - 89 * dayMs).toISOString().slice(0, 10)
const monthAgo = new Date(Date.now() - 30 * dayMs).toISOString().slice(0, 10)
/** Of each page: its first calls, and those of its filters and search. */
const pages: Record<string, string[]> = {
  Requests: [
    '/requests?limit=50', '/requests?limit=50&model=chat', '/requests?limit=50&model=none', '/requests?limit=50&provider=none',
    '/requests?limit=50&status=5xx', '/requests?limit=50&outcome=broken_off', '/requests?limit=50&key=seed7',
    '/requests?limit=50&account=none', '/requests?limit=50&to=2020-01-01', '/requests?limit=50&account=default&to=2020-01-01',
    '/requests?limit=50&outcome=error', '/requests/req_seed7'
  ],
  Usage: [
    `/usage?by=day,model&from=${monthAgo}`, `/usage?by=day,key&from=${monthAgo}&limit=1000`, `/usage?by=day,key&from=${quarterAgo}&limit=1000`,
    `/usage?by=key&from=${quarterAgo}&limit=50`, '/usage?by=account'
  ],
  Accounts: [
    '/accounts?limit=50', '/accounts?search=seeded%209&limit=20', '/accounts/default', '/entries?account=default&limit=50',
    '/entries?account=seed7&limit=50', '/entries?kind=refund&limit=50', '/keys?account=default&limit=50'
  ],
  Statements: [
    `/statements?limit=50&month=${thisMonth}`, `/statements?limit=50&month=${thisMonth}&account=default`,
    '/accounts/default/balance', `/entries?account=default&month=${thisMonth}&kind=deposit&limit=50`
  ],
  Keys: ['/keys?limit=50', '/keys?search=seeded%2099&limit=20', '/keys?search=none', '/keys/seed7'],
  Media: ['/media?limit=50', '/media?limit=50&kind=video', '/media?limit=50&account=default'],
  Jobs: [
    '/jobs?limit=50', '/jobs?limit=50&state=failed', '/jobs?limit=50&model=none', '/jobs?limit=50&delivered=no', '/jobs/job_seed7',
    '/jobs?search=job_seed77'
  ],
  Providers: ['/providers'],
  Audit: ['/audit?limit=50', '/audit?limit=50&action=none', '/audit?limit=50&target=key:seed7'],
  Alerts: ['/alerts?limit=50']
}

if (values.help) console.log(usage)
else {
  const slow: string[] = []
  if (values.engine !== 'postgres') {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'console-scale-'))
    slow.push(...await measure('SQLite', `sqlite:${join(folder.path, 'scale.db')}`))
  }
  if (values.engine !== 'sqlite') {
    await using server = await startPostgresProcess({ durable: false })
    slow.push(...await measure('Postgres', await server.createSchema()))
  }
  for (const line of slow) console.error(`above ${values.limit} ms: ${line}`)
  if (slow.length > 0) process.exitCode = 1
}

/** Prints the slowest call of each page; returns those above the limit. */
async function measure (name: string, database: string): Promise<string[]> {
  const ends: (() => unknown)[] = []
  const teardown = (end: () => unknown): void => { ends.unshift(end) }
  try {
    const env = { DATABASE_URL: database, TOLLGATE_ADMIN_KEY: adminKey }
    const { app, url } = await startGateway({ teardown }, { env })
    const part = values.long ? 1 : 0.1
    const startMs = performance.now()
    const counts = Object.entries(sizes).map(([rows, count]) => [rows, count * part] as const)
    await seed(app.store, Object.fromEntries(counts))
    if (app.store.engine === 'postgres') await analyze(database)
    const seconds = ((performance.now() - startMs) / 1_000).toFixed(0)
    console.log(`${name}: seeded ${sizes.requests * part} requests and ${sizes.keys * part} keys in ${seconds} s`)
    const slow: string[] = []
    for (const [page, paths] of Object.entries(pages)) {
      const calls: { path: string, ms: number }[] = []
      for (const path of paths) calls.push({ path, ms: await msOf(new URL(`/admin${path}`, url)) })
      const [slowest = { path: '', ms: 0 }] = calls.toSorted((one, other) => other.ms - one.ms)
      console.log(`${name}: ${page.padEnd(10)} ${slowest.ms.toFixed(0).padStart(5)} ms at most: ${slowest.path}`)
      for (const { path, ms } of calls) {
        if (ms > Number(values.limit)) slow.push(`${name} ${path}: ${ms.toFixed(0)} ms`)
      }
    }
    return slow
  } finally {
    for (const end of ends) await end()
  }
}

/** As Postgres does by and by; over a connection that waits for it while it does. */
async function analyze (address: string): Promise<void> {
  const client = new pg.Client(address)
  await client.connect()
  await client.query('analyze')
  await client.end()
}

/** The faster of two, as other processes take the machine's time too. */
async function msOf (url: URL): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < 2; round++) {
    const startMs = performance.now()
    const response = await fetch(url, { headers: { authorization: `Bearer ${adminKey}` } })
    const text = await response.text()
    if (!response.ok) throw new Error(`${url.pathname}${url.search}: ${response.status} ${text}`)
    times.push(performance.now() - startMs)
  }
  return Math.min(...times)
}
