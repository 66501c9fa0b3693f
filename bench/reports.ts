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
import { seedBooks } from './seed-books.ts'
import { quantileOf } from './statistics.ts'

// Measures what reports on a large ledger do to the latency of another key's chat requests.

const usage = `npm run bench:reports --
  --entries <n>      entries to seed, default 5000000
  --per-second <n>   chat requests per second, default 100
  --seconds <n>      length of a round, default 5
  --rounds <n>       rounds of each report, each beside a quiet one, default 6
  --seed <n>         what the entries are made from, default 1
  --engine <name>    only sqlite or postgres`

const { values } = parseArgs({
  options: {
    entries: { type: 'string', default: '5000000' },
    'per-second': { type: 'string', default: '100' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '6' },
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
interface Latencies { name: string, quietMs: number[], besideMs: number[], done: number, tookMs: number }

/** A report, over and over, by as many clients as there are requests. */
const reports: Record<string, (gateway: Gateway) => Promise<void>[]> = {
  'ledger check --full': gateway => [ask(gateway, 'POST', '/admin/ledger/check?scope=all')],
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
    await measureEngine('sqlite', `sqlite:${join(folder.path, 'books.db')}`, folder.path)
  }
  if (values.engine !== 'sqlite') {
    await using server = await startPostgresProcess({ durable: true })
    await measureEngine('postgres', await server.createSchema(), folder.path)
  }
}

async function measureEngine (engine: Store['engine'], url: string, cwd: string): Promise<void> {
  const store = await openStore(url)
  const startedMs = performance.now()
  await seedBooks(store, { entries: options.entries, accounts, seed: options.seed })
  await store.close()
  console.log(`\n${engine}: seeded in ${Math.round((performance.now() - startedMs) / 1000)} s`)
  await using child = await startGateway(url, cwd)
  const pool = new Pool(new URL(child.url).origin, { connections: 256 })
  await send(pool, 'POST', '/admin/accounts', adminKey, { id: 'chat' })
  await send(pool, 'POST', '/admin/accounts/chat/deposits', adminKey, { amount_usd: 1_000 })
  const gateway = { pool, chatKey: await createKey(pool, 'chat'), ownerKey: await createKey(pool, 'team-0') }
  await chatFor(gateway, options.seconds)
  for (const [name, report] of Object.entries(reports)) print(await measure(gateway, name, report))
  await pool.destroy()
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
  gateway: Gateway, name: string, report: (gateway: Gateway) => Promise<void>[]
): Promise<Latencies> {
  const [quietMs, besideMs]: number[][] = [[], []]
  let [done, tookMs] = [0, 0]
  for (let round = 0; round < options.rounds; round++) {
    quietMs?.push(...await chatFor(gateway, options.seconds))
    const over = new AbortController()
    const reporting = (async () => {
      while (!over.signal.aborted) {
        const startedMs = performance.now()
        await Promise.all(report(gateway))
        done++
        tookMs += performance.now() - startedMs
      }
    })()
    besideMs?.push(...await chatFor(gateway, options.seconds))
    over.abort()
    await reporting
  }
  return { name, quietMs: quietMs ?? [], besideMs: besideMs ?? [], done, tookMs }
}

function print ({ name, quietMs, besideMs, done, tookMs }: Latencies): void {
  const figures = [0.5, 0.99, 1].map(share => {
    const [quiet, beside] = [quantileOf(quietMs, share), quantileOf(besideMs, share)]
    return `${share === 1 ? 'max' : `p${share * 100}`} ${quiet.toFixed(1)} → ${beside.toFixed(1)} ms`
  })
  console.log(`${name}: ${figures.join(', ')}; ${done} times, ${Math.round(tookMs / done)} ms each`)
}

/** Sends chat requests at a steady rate; returns how long each took. */
async function chatFor (gateway: Gateway, seconds: number): Promise<number[]> {
  const latencies: Promise<number>[] = []
  const startedMs = performance.now()
  for (let index = 0; index < options.perSecond * seconds; index++) {
    const dueMs = startedMs + index * 1000 / options.perSecond - performance.now()
    if (dueMs > 0) await sleep(dueMs)
    latencies.push(chat(gateway))
  }
  return await Promise.all(latencies)
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
