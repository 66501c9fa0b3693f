import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'
import { startPostgresProcess } from '../test/chaos/postgres.ts'
import { startServer, type Child } from './child.ts'
import { watchOtherLoad } from './other-load.ts'
import { seedBooks } from './seed-books.ts'
import { mean, quantileOf } from './statistics.ts'

// Measures what reports on a large ledger do to the latency of another key's chat requests.

const usage = `npm run bench:reports --
  --entries <n>      entries to seed, default 5000000
  --per-second <n>   chat requests per second, default 100
  --seconds <n>      length of a round, default 5
  --rounds <n>       rounds of each report, each beside a quiet one, default 6
  --books <file>     a SQLite database of an earlier run, which is changed; else one is seeded
  --seed <n>         what the entries are made from, default 1
  --engine <name>    only sqlite or postgres
  --only <text>      only reports whose name contains it`

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '5000000' },
    'per-second': { type: 'string', default: '100' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '6' },
    books: { type: 'string' },
    only: { type: 'string' },
    seed: { type: 'string', default: '1' },
    engine: { type: 'string' },
    help: { type: 'boolean', default: false }
  }
})
const options = {
  entries: Number(values.entries),
  perSecond: Number(values['per-second']),
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
  seed: Number(values.seed)
}
const adminKey = 'admin-key-of-the-benchmark'
const accounts = 100

interface Gateway {
  pool: Pool
  /** A key of an account of its own. */
  chatKey: string
  /** A key of an account with a hundredth of the entries. */
  ownerKey: string
}
/** What one second of chat requests has taken, and the share of the processors that other programs used. */
interface Slice { latenciesMs: number[], others: number }
interface Measured { quiet: Slice[], beside: Slice[], done: number, tookMs: number }

/** A report, over and over, by as many clients as there are requests. */
const reports: Record<string, (gateway: Gateway) => Promise<void>[]> = {
  'ledger check': gateway => [ask(gateway, 'POST', '/admin/ledger/check')],
  'GET /admin/usage': gateway => [ask(gateway, 'GET', '/admin/usage?by=key,model')],
  'GET /admin/entries of an account without any': gateway => [ask(gateway, 'GET', '/admin/entries?account=default&kind=refund')],
  'own usage on 2 connections': gateway =>
    [1, 2].map(() => ask(gateway, 'GET', '/v1/dashboard/billing/usage', gateway.ownerKey))
}

if (values.help) console.log(usage)
else await measureEngines()

async function measureEngines (): Promise<void> {
  console.log(`seed ${options.seed}, ${options.entries} entries, ${options.perSecond} chat requests per second`)
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-reports-'))
  if (values.engine !== 'postgres') {
    await measureEngine('sqlite', `sqlite:${values.books ?? join(folder.path, 'books.db')}`, folder.path)
  }
  if (values.engine !== 'sqlite') {
    await using server = await startPostgresProcess({ durable: true })
    await measureEngine('postgres', await server.createSchema(), folder.path)
  }
}

async function measureEngine (engine: Store['engine'], url: string, cwd: string): Promise<void> {
  const startedMs = performance.now()
  if (engine === 'postgres' || values.books === undefined) await seed(url)
  console.log(`\n${engine}: seeded in ${Math.round((performance.now() - startedMs) / 1000)} s`)
  await using child = await startGateway(url, cwd)
  const pool = new Pool(new URL(child.url).origin, { connections: 256 })
  const chatAccount = `chat-${Date.now()}`
  await send(pool, 'POST', '/admin/accounts', adminKey, { id: chatAccount })
  await send(pool, 'POST', `/admin/accounts/${chatAccount}/deposits`, adminKey, { amount_usd: 1_000 })
  const gateway = { pool, chatKey: await createKey(pool, chatAccount), ownerKey: await createKey(pool, 'team-0') }
  await chatFor(gateway, options.seconds)
  for (const [name, report] of Object.entries(reports)) {
    if (name.includes(values.only ?? '')) print(name, await measure(gateway, report))
  }
  await pool.destroy()
}

async function seed (url: string): Promise<void> {
  const store = await openStore(url)
  await seedBooks(store, { entries: options.entries, accounts, seed: options.seed })
  await store.close()
}

async function startGateway (url: string, cwd: string): Promise<Child> {
  return await startServer({
    file: fileURLToPath(new URL('../bin/serve.ts', import.meta.url)),
    preloads: [fileURLToPath(new URL('../bin/compile-cache.js', import.meta.url))],
    cwd,
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      DATABASE_URL: url,
      TOLLGATE_ADMIN_KEY: adminKey,
      TOLLGATE_DISCOVER: 'off',
      // So that the reports are measured, and not their limit.
      TOLLGATE_BILLING_RPM: '1000000'
    },
    needsKey: false
  })
}

async function measure (
  gateway: Gateway, report: (gateway: Gateway) => Promise<void>[]
): Promise<Measured> {
  const measured: Measured = { quiet: [], beside: [], done: 0, tookMs: 0 }
  for (let round = 0; round < options.rounds; round++) {
    measured.quiet.push(...await chatFor(gateway, options.seconds))
    const over = new AbortController()
    const reporting = (async () => {
      while (!over.signal.aborted) {
        const startedMs = performance.now()
        await Promise.all(report(gateway))
        measured.done++
        measured.tookMs += performance.now() - startedMs
      }
    })()
    measured.beside.push(...await chatFor(gateway, options.seconds))
    over.abort()
    await reporting
  }
  return measured
}

/**
 * The least disturbed quarter of the seconds. They leave out what other programs did, but not the report,
 * which runs in every second beside it.
 */
function leastDisturbed (slices: readonly Slice[]): Slice[] {
  const worst = ({ latenciesMs }: Slice) => quantileOf(latenciesMs, 0.99)
  return slices.toSorted((a, b) => worst(a) - worst(b)).slice(0, Math.ceil(slices.length / 4))
}

function print (name: string, { quiet, beside, done, tookMs }: Measured): void {
  const figures = (choose: (slices: readonly Slice[]) => readonly Slice[], shares: readonly number[]) => {
    const [without, besides] = [quiet, beside].map(slices =>
      choose(slices).flatMap(({ latenciesMs }) => latenciesMs))
    const range = (share: number) =>
      `${quantileOf(without ?? [], share).toFixed(1)} → ${quantileOf(besides ?? [], share).toFixed(1)}`
    return shares.map(share => `${share === 1 ? 'max' : `p${share * 100}`} ${range(share)} ms`).join(', ')
  }
  const others = [quiet, beside].map(slices => Math.round(100 * mean(slices.map(({ others }) => others))))
  console.log(`${name}: ${figures(slices => slices, [0.5, 0.9, 0.99])}; in the least disturbed quarter of the ` +
    `seconds ${figures(leastDisturbed, [0.5, 0.9, 0.99, 1])}; ${done} times, ${Math.round(tookMs / done)} ms each; ` +
    `other programs used ${others.join(' and ')} % of the processors`)
}

/** Sends chat requests at a steady rate; returns how long each took, by the second in which it was sent. */
async function chatFor (gateway: Gateway, seconds: number): Promise<Slice[]> {
  const slices: Promise<Slice>[] = []
  for (let second = 0; second < seconds; second++) {
    const otherLoad = watchOtherLoad()
    const startedMs = performance.now()
    const latencies: Promise<number>[] = []
    for (let index = 0; index < options.perSecond; index++) {
      const dueMs = startedMs + index * 1000 / options.perSecond - performance.now()
      if (dueMs > 0) await sleep(dueMs)
      latencies.push(chat(gateway))
    }
    const others = otherLoad()
    slices.push(Promise.all(latencies).then(latenciesMs => ({ latenciesMs, others })))
  }
  return await Promise.all(slices)
}

async function chat ({ pool, chatKey }: Gateway): Promise<number> {
  const startedMs = performance.now()
  await send(pool, 'POST', '/v1/chat/completions', chatKey,
    { model: 'sandbox-chat', messages: [{ role: 'user', content: 'What does the toll cost?' }], max_tokens: 20 })
  return performance.now() - startedMs
}

async function ask ({ pool }: Gateway, method: 'GET' | 'POST', path: string, key = adminKey): Promise<void> {
  await send(pool, method, path, key)
}

async function createKey (pool: Pool, account: string): Promise<string> {
  const { key } = JSON.parse(await send(pool, 'POST', '/admin/keys', adminKey, { account }))
  return key
}

async function send (
  pool: Pool, method: 'GET' | 'POST', path: string, key: string, sent?: object
): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, ...(sent && { 'content-type': 'application/json' }) }
  const content = sent === undefined ? null : JSON.stringify(sent)
  const { statusCode, body } = await pool.request({ method, path, headers, body: content, headersTimeout: 0 })
  const text = await body.text()
  if (statusCode >= 300) throw new Error(`${path} answered ${statusCode}: ${text.slice(0, 500)}`)
  return text
}
