import { mkdtemp, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createKeys } from '../services/keys/keys.ts'
import { createAccounts } from '../services/billing/ledger/accounts.ts'
import { openStore } from '../services/store/open.ts'
import type { Store } from '../services/store/store.ts'
import { startPostgresProcess } from '../test/chaos/postgres.ts'
import { cpuUs, startGatewayProcess, type GatewayProcess } from './gateway-process.ts'
import { chatRequest, sendLightLoad } from './light-load.ts'
import { watchOtherLoad } from './other-load.ts'
import { seedBooks } from './seed-books.ts'
import { spreadOf } from './statistics.ts'

// Measures whether a request costs the same CPU time in a large installation as in a small one: 1, 100 and
// 10,000 keys in use, 10 and 1,000 models, 1 and 50 nodes, 10,000 and 5 million entries. Pairs of gateways
// get the same load in alternating rounds; the sandbox answers.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    count: { type: 'string', default: '4000' },
    entries: { type: 'string', default: '5000000' },
    only: { type: 'string', multiple: true },
    engine: { type: 'string', default: 'sqlite' }
  }
})
/** A size of an installation; what is absent is as small as it can be. */
interface Size { keys?: number, models?: number, nodes?: number, entries?: number }

const small = { keys: 1, models: 10, nodes: 1, entries: 0 } satisfies Size
const comparisons: Readonly<Record<string, [Size, Size]>> = {
  'keys-100': [small, { keys: 100 }],
  'keys-10000': [small, { keys: 10_000 }],
  models: [small, { models: 1_000 }],
  nodes: [small, { nodes: 50 }],
  entries: [{ entries: 10_000 }, { entries: Number(values.entries) }]
}
const connections = 32
const warmUp = 25_000
/** Longer than the flush intervals of ledger and request log. */
const writeDelayMs = 150
const accountNano = 1e15

interface Subject extends GatewayProcess { requests: Buffer[] }

async function start (given: Size, createUrl: () => Promise<string>, workspace: string): Promise<Subject> {
  const size = { ...small, ...given }
  const DATABASE_URL = await createUrl()
  const store = await openStore(DATABASE_URL)
  const keys = await fill(store, size)
  await store.close()
  const folder = await mkdtemp(join(workspace, 'node-'))
  await writeFile(join(folder, 'gateway.yaml'), yaml(size.models))
  const gateway = await startGatewayProcess(folder, { DATABASE_URL })
  const length = Math.max(keys.length, size.models)
  const requests = Array.from({ length }, (_, index) => chatRequest({
    url: gateway.url, key: keys[index % keys.length] ?? ''
  }, {
    model: `model-${index % size.models}`, messages: [{ role: 'user', content: 'What is a gateway?' }], max_tokens: 20
  }))
  return { ...gateway, requests }
}

/** Returns the keys. */
async function fill (store: Store, { keys: count, nodes, entries }: Required<Size>): Promise<string[]> {
  const accounts = createAccounts(store)
  await accounts.create({ id: 'default' })
  await accounts.deposit({ id: 'credit', account: 'default', amountNano: accountNano })
  const keys = createKeys(store)
  const secrets = await store.transaction(async queries => {
    const made: string[] = []
    while (made.length < count) made.push((await keys.create({ account: 'default', label: 'bench' }, queries)).key)
    return made
  })
  if (entries > 0) await seedBooks(store, { entries, accounts: 100, seed: 1 })
  // Alive for the whole time of the measurement.
  for (let node = 1; node < nodes; node++) {
    await store.run('insert into node (id, epoch, heartbeat_at, request_ms) values ($1, 1, now_ms() + 3600000, 600000)',
      [`node-${node}`])
  }
  return secrets
}

function yaml (models: number): string {
  const lines = Array.from({ length: models }, (_, index) =>
    `  - { id: model-${index}, provider: sandbox, model: sandbox-chat, price: { input: 0.15, output: 0.6 } }`)
  return `providers:\n  - { id: sandbox, protocol: sandbox }\nmodels:\n${lines.join('\n')}\n`
}

async function cpuPerRequest ({ url, requests, pids }: Subject, count: number): Promise<number> {
  const sum = () => pids.reduce((sum, pid) => sum + cpuUs(pid), 0)
  const before = sum()
  await sendLightLoad({ url, requests, count, connections })
  await pause(writeDelayMs)
  return (sum() - before) / count
}

async function compare (
  name: string, sizes: [Size, Size], startAt: (size: Size) => Promise<Subject>
): Promise<void> {
  const subjects = [await startAt(sizes[0]), await startAt(sizes[1])] as const
  for (const { url, requests } of subjects) await sendLightLoad({ url, requests, count: warmUp, connections })
  const otherLoad = watchOtherLoad()
  const pairs: [number, number][] = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const [first, second] = round % 2 === 0 ? subjects : subjects.toReversed()
    const one = await cpuPerRequest(first!, Number(values.count))
    const other = await cpuPerRequest(second!, Number(values.count))
    pairs.push(round % 2 === 0 ? [one, other] : [other, one])
  }
  const us = (pick: 0 | 1) => spreadOf(pairs.map(pair => pair[pick])).middle.toFixed(0)
  const { middle, min, max } = spreadOf(pairs.map(([small, large]) => large / small))
  const shown = sizes.map(size => JSON.stringify(size)).join(' → ')
  console.log(`${name}: ${us(0)} → ${us(1)} µs, ratio ${middle.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)}), ` +
    `others used ${(otherLoad() * 100).toFixed(0)} % of the processors; ${shown}`)
  for (const subject of subjects) await subject.stop()
}

await using workspace = await mkdtempDisposable(join(tmpdir(), 'bench-'))
await using postgres = values.engine === 'postgres' ? await startPostgresProcess() : null
const createUrl = async (): Promise<string> => postgres === null
  ? `sqlite:${join(await mkdtemp(join(workspace.path, 'db-')), 'tollgate.db')}`
  : await postgres.createSchema()
for (const [name, sizes] of Object.entries(comparisons)) {
  if (values.only !== undefined && !values.only.includes(name)) continue
  await compare(name, sizes, size => start(size, createUrl, workspace.path))
}
