import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { recordEntryBlocks } from '../services/billing/ledger/sql/entry-blocks.ts'
import { periodCosts } from '../services/operations/reports/period-costs.ts'
import { parseDimensions } from '../services/operations/reports/dimensions.ts'
import { rollUpUsage } from '../services/operations/reports/roll-up.ts'
import { sumUsage } from '../services/operations/reports/usage.ts'
import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'
import { startPostgresProcess } from '../test/chaos/postgres.ts'

// Measures reports on usage over millions of entries: a hundred days of 1,000 keys of 100 accounts that use
// ten models at three providers.

const usage = `node bench/usage.ts
  --entries <count>  default 5000000
  --engine <name>    sqlite or postgres; default both`

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '5000000' },
    engine: { type: 'string' },
    help: { type: 'boolean', default: false }
  }
})

const days = 100
const dayMs = 86_400_000
const today = Math.floor(Date.now() / dayMs) * dayMs
const period = { from: today - (days - 1) * dayMs, to: today + dayMs }

if (values.help) console.log(usage)
else {
  const count = Number(values.entries)
  if (values.engine !== 'postgres') await measureSqlite(count)
  if (values.engine !== 'sqlite') await measurePostgres(count)
}

async function measureSqlite (count: number): Promise<void> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-usage-'))
  await measure('SQLite', `sqlite:${join(folder.path, 'usage.db')}`, count)
}

async function measurePostgres (count: number): Promise<void> {
  await using server = await startPostgresProcess({ durable: false })
  await measure('Postgres', await server.createSchema(), count)
}

async function measure (name: string, url: string, count: number): Promise<void> {
  const store = await openStore(url)
  await fill(store, count)
  const rolledUpMs = await timed(() => rollUpUsage(store))
  const rows = await store.get<{ count: number }>('select count(*) as count from usage_day')
  console.log(`${name}: ${count} entries rolled up to ${rows?.count} rows in ${(rolledUpMs.ms / 1_000).toFixed(1)} s, event loop p99 ${rolledUpMs.stallMs.toFixed(0)} ms`)
  // As many as arrive between two rounds of the roll-up at 700 requests a second.
  await fill(store, 3_500, count)
  const all = { ...period, limit: 1_000 }
  const reports: Record<string, () => Promise<unknown>> = {
    'all, by key, model and day': () => sumUsage(store, { by: parseDimensions('key,model,day'), ...all }),
    'all, by account and provider': () => sumUsage(store, { by: parseDimensions('account,provider'), ...all }),
    'all, by account with those above': () => sumUsage(store, { by: parseDimensions('account'), children: true, ...all }),
    'all, by tag and month': () => sumUsage(store, { by: parseDimensions('tag:project,month'), ...all }),
    'all, in total': () => sumUsage(store, { by: [], ...all }),
    'all, from noon to noon': () => sumUsage(store, { by: [], from: period.from + dayMs / 2, to: today + dayMs / 2 }),
    'one account, by model and day': () => periodCosts(store, { ...period, account: 'a7' }),
    'one key, by model and day': () => periodCosts(store, { ...period, key: 'k7' })
  }
  for (const [title, report] of Object.entries(reports)) {
    const results = []
    for (let round = 0; round < 5; round++) results.push(await timed(report))
    const [best] = results.toSorted((one, other) => one.ms - other.ms)
    const stallMs = Math.max(...results.map(({ stallMs }) => stallMs))
    const cpuMs = best?.cpuMs.toFixed(0).padStart(5)
    console.log(`  ${title.padEnd(34)} ${best?.ms.toFixed(0).padStart(6)} ms, CPU ${cpuMs} ms, event loop p99 ${stallMs.toFixed(0)} ms`)
  }
  await store.close()
}

/** The CPU time of the process includes SQLite's thread for reports, not a server. */
async function timed (work: () => Promise<unknown>): Promise<{ ms: number, cpuMs: number, stallMs: number }> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  const startedMs = performance.now()
  const startedCpu = process.cpuUsage()
  await work()
  const ms = performance.now() - startedMs
  const { user, system } = process.cpuUsage(startedCpu)
  delay.disable()
  return { ms, cpuMs: (user + system) / 1_000, stallMs: delay.percentile(99) / 1e6 }
}

/** Adds entries after the first `from`, in the order of their time. */
async function fill (store: Store, count: number, from = 0): Promise<void> {
  if (from === 0) await fillAccounts(store)
  const chunk = 100_000
  for (let first = from; first < from + count; first += chunk) {
    const last = Math.min(first + chunk, from + count)
    const series = store.engine === 'sqlite'
      ? `(with recursive series (n) as (select ${first} union all select n + 1 from series where n < ${last - 1}) select n from series)`
      : `(select n from generate_series(cast(${first} as bigint), ${last - 1}) as series (n))`
    const at = from === 0 ? `${period.from} + n * ${Math.floor(days * dayMs / count)}` : `${Date.now()}`
    await store.run(`
      insert into entry (at, debit, credit, amount, kind, ref, model, provider, usage, estimated, api_key, chain)
      select ${at}, 'a' || (n * 7 % 1000 / 10), 'revenue', 1000 + n % 100, 'usage', 'req', 'model-' || (n % 10), 'provider-' || (n % 3),
        '{"prompt":' || (n % 1000) || ',"completion":164,"tags":{"project":"p' || (n * 7 % 1000 / 10 % 5) || '"}}', 0,
        'k' || (n * 7 % 1000), 'a' || (n * 7 % 1000 / 10) || ' org' from ${series} as numbers`)
  }
  await recordEntryBlocks(store)
  for (let blocks = 0; blocks < count / 400_000; blocks++) await recordEntryBlocks(store)
}

async function fillAccounts (store: Store): Promise<void> {
  await store.run("insert into account (id, name, currency, created_at) values ('org', '', 'usd', 0)")
  for (let account = 0; account < 100; account++) {
    await store.run("insert into account (id, parent, name, currency, created_at) values ($1, 'org', '', 'usd', 0)", [`a${account}`])
    for (const member of [`a${account}`, 'org']) {
      await store.run('insert into chain (id, account) values ($1, $2)', [`a${account} org`, member])
    }
  }
}
