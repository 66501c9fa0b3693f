import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createAccounts } from '../services/billing/ledger/accounts.ts'
import { createLedger } from '../services/billing/ledger/create.ts'
import type { Ledger } from '../services/billing/ledger/ledger.ts'
import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'
import { startPostgresProcess } from '../test/chaos/postgres.ts'
import { spreadOf } from './statistics.ts'

// Measures how many holds on one account one process can grant and settle per second, each waiting for the
// commit; and the time that a request spends if it does not wait.

const usage = `node bench/ledger.ts
  --postgres <url>  also measure on this Postgres server`

interface Row { name: string, perSecond: number, cpuUs: number, waitMs: number, memoryUs: number }

const inFlight = 256
const seconds = { warmUp: 1, measured: 4 }
const memory = { requests: 10_000, rounds: 9 }
const holdNano = 10_000
const posting = {
  amountNano: 7_000,
  ref: 'req_0123456789abcdef',
  model: 'provider/model',
  usage: { prompt: 812, completion: 164 },
  estimated: false
}

let count = 0

const { values } = parseArgs({ options: { postgres: { type: 'string' }, help: { type: 'boolean', default: false } } })
if (values.help) console.log(usage)
else console.log(table(await measureAll()))

async function measureAll (): Promise<Row[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-ledger-'))
  await using server = await startPostgresProcess({ durable: true })
  const rows = [
    await measure('SQLite, synchronous = normal', `sqlite:${join(folder.path, 'normal.db')}`),
    await measure('SQLite, synchronous = full', `sqlite:${join(folder.path, 'full.db')}`, 'pragma synchronous = full'),
    await measure('Postgres, synchronous_commit = on', await server.createSchema()),
    await measureTwoNodes('Postgres, two nodes', await server.createSchema())
  ]
  return values.postgres === undefined ? rows : [...rows, await measure('Postgres of --postgres', values.postgres)]
}

async function measure (name: string, url: string, setting?: string): Promise<Row> {
  const store = await openStore(url)
  if (setting !== undefined) await store.run(setting)
  const account = await createAccount(store)
  // Without the flush interval, which would dominate with so few requests in flight.
  const ledger = createLedger({ store, options: { flushMs: 0 } })
  await measureDurable(ledger, account, seconds.warmUp)
  const measured = await measureDurable(ledger, account, seconds.measured)
  const memoryUs = await measureInMemory(ledger, account)
  await ledger.close()
  await store.close()
  return { name, ...measured, memoryUs }
}

/** Two nodes that write to one account at the same time, in this process. */
async function measureTwoNodes (name: string, url: string): Promise<Row> {
  const stores = [await openStore(url), await openStore(url)]
  const ledgers = stores.map(store => createLedger({ store, options: { flushMs: 0 } }))
  const [store] = stores
  if (store === undefined) throw new Error('There is a store')
  const account = await createAccount(store)
  const both = (forS: number) => Promise.all(ledgers.map(ledger => measureDurable(ledger, account, forS)))
  await both(seconds.warmUp)
  const [one, other] = await both(seconds.measured)
  for (const ledger of ledgers) await ledger.close()
  for (const store of stores) await store.close()
  const perSecond = (one?.perSecond ?? NaN) + (other?.perSecond ?? NaN)
  // Each measures the time of the process.
  const cpuUs = (one?.cpuUs ?? NaN) * (one?.perSecond ?? NaN) / perSecond
  return { name, perSecond, cpuUs, waitMs: Math.max(one?.waitMs ?? NaN, other?.waitMs ?? NaN), memoryUs: NaN }
}

async function createAccount (store: Store): Promise<string> {
  const account = `hot-${Date.now()}`
  const accounts = createAccounts(store)
  await accounts.create({ id: account })
  await accounts.deposit({ id: account, account, amountNano: Number.MAX_SAFE_INTEGER })
  return account
}

function reserve (ledger: Ledger, account: string) {
  const id = `bench-${++count}-${account}`
  return ledger.reserve({ id, chain: [account], key: 'key', amountNano: holdNano, fresh: true })
}

async function measureDurable (ledger: Ledger, account: string, forS: number): Promise<Omit<Row, 'name' | 'memoryUs'>> {
  const startedMs = performance.now()
  const startedCpu = process.cpuUsage()
  const waitsMs: number[] = []
  await Promise.all(Array.from({ length: inFlight }, async () => {
    for (let nowMs = startedMs; nowMs - startedMs < forS * 1_000;) {
      const hold = await reserve(ledger, account)
      await hold.settle(posting)
      const endMs = performance.now()
      waitsMs.push(endMs - nowMs)
      nowMs = endMs
    }
  }))
  const { user, system } = process.cpuUsage(startedCpu)
  return {
    perSecond: waitsMs.length / (performance.now() - startedMs) * 1_000,
    cpuUs: (user + system) / waitsMs.length,
    waitMs: spreadOf(waitsMs).middle
  }
}

/** Reserves and settles without waiting; returns the median of the rounds, in microseconds each. */
async function measureInMemory (ledger: Ledger, account: string): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < memory.rounds; round++) {
    // Loads the account and an allowance into memory.
    await (await reserve(ledger, account)).settle(posting)
    const startedMs = performance.now()
    let granted = 0
    while (granted < memory.requests) {
      const hold = reserve(ledger, account)
      if (hold instanceof Promise) break
      hold.settle({ ...posting, amountNano: 1 })
      granted++
    }
    rounds.push((performance.now() - startedMs) * 1_000 / granted)
    await ledger.flush()
  }
  return spreadOf(rounds).middle
}

function table (rows: readonly Row[]): string {
  const cells = [
    [`hold and settle, one account, ${inFlight} in flight`, 'per second', 'CPU µs each', 'wait ms', 'in memory µs'],
    ...rows.map(({ name, perSecond, cpuUs, waitMs, memoryUs }) => [
      name, String(Math.round(perSecond)), cpuUs.toFixed(1), waitMs.toFixed(1), Number.isNaN(memoryUs) ? '' : memoryUs.toFixed(2)
    ])
  ]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? []
  return cells.map((row) => row.map((cell, column) => {
    const width = widths[column] ?? 0
    return column === 0 ? cell.padEnd(width) : cell.padStart(width)
  }).join('  ')).join('\n')
}
