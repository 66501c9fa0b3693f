import { mkdtempDisposable } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'undici'
import { checkLedger } from '../../services/billing/ledger/check/check-books.ts'
import { openStore } from '../../services/store/open.ts'
import type { Store } from '../../services/store/store.ts'
import { addressOf, spawnGateway, type GatewayProcess } from '../helpers/process.ts'
import { adminKey } from '../helpers/worker-nodes.ts'
import { startPostgresProcess } from './postgres.ts'
import { createReport } from './report.ts'

// Measures how long after its last byte a response is in the books, matched by request id, under load; then
// kills the nodes (`kill -9`), and looks for the charge of every response that had ended.

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '5' },
    lanes: { type: 'string', default: '24' }
  }
})
/** On Postgres; a SQLite file has one. */
const nodes = 2
/** How long settlements are collected. */
const flushMs = 20
/** On a machine without other work. */
const usualBoundMs = 50
const report = createReport()

interface Told { isStream: boolean, atMs: number }

/** Sends requests on one connection, a stream and a whole answer in turn, until the node is gone. */
async function sendAll (
  origin: string, key: string, lane: string, told: Map<string, Told>, isOver: () => boolean
): Promise<void> {
  const client = new Client(origin)
  try {
    for (let number = 1; !isOver(); number++) {
      const isStream = number % 2 === 0
      const id = `${lane}-${number}`
      const answer = await client.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'x-request-id': id },
        body: JSON.stringify({
          model: 'sandbox-chat',
          messages: [{ role: 'user', content: 'Hello' }],
          max_tokens: 20,
          stream: isStream
        })
      })
      const text = await answer.body.text()
      const isTold = answer.statusCode === 200 && (!isStream || text.includes('data: [DONE]'))
      if (isTold) told.set(id, { isStream, atMs: performance.now() })
    }
  } catch {
    // The node was killed.
  } finally {
    client.destroy()
  }
}

/** When the entry of each request was first seen. */
async function watchBooks (store: Store, seen: Map<string, number>, isOver: () => boolean): Promise<void> {
  let last = 0
  while (!isOver()) {
    // Numbers of entries that are committed later may be lower.
    const rows = await store.all<{ seq: number, ref: string }>(
      "select seq, ref from entry where kind = 'usage' and seq > $1 order by seq", [last - 2000])
    const nowMs = performance.now()
    for (const { seq, ref } of rows) {
      if (!seen.has(ref)) seen.set(ref, nowMs)
      last = Math.max(last, seq)
    }
    await sleep(2)
  }
}

/** How long the slowest commit of a node took, as its histogram shows it, in ms. */
async function slowestCommitMs (origin: string): Promise<number> {
  const authorization = `Bearer ${adminKey}`
  const text = await (await fetch(`${origin}/metrics`, { headers: { authorization } })).text()
  const buckets = [...text.matchAll(/^tollgate_ledger_flush_seconds_bucket\{le="([^"]+)"\} (\d+)$/gm)]
  const total = Number(buckets.at(-1)?.[2])
  const slowest = buckets.find(([, , count]) => Number(count) === total)
  if (slowest === undefined) throw new Error(`no commits in ${text.slice(0, 500)}`)
  return 1000 * Number(slowest[1]?.replace('+Inf', '10'))
}

async function round (
  databaseUrl: string, folder: string, count: number, ends: (() => unknown)[]
): Promise<void> {
  const env = {
    DATABASE_URL: databaseUrl,
    TOLLGATE_STARTING_CREDIT: '1000',
    TOLLGATE_ADMIN_KEY: adminKey,
    LOG_LEVEL: 'warn'
  }
  const gateways: GatewayProcess[] = []
  let key = ''
  const origins: string[] = []
  for (let node = 0; node < count; node++) {
    const gateway = await spawnGateway({ teardown: work => ends.push(work) }, env, { folder })
    const { url, key: first } = await addressOf(gateway)
    gateways.push(gateway)
    origins.push(new URL(url).origin)
    key = first === '' ? key : first
  }
  const store = await openStore(databaseUrl)
  const told = new Map<string, Told>()
  const seen = new Map<string, number>()
  let isOver = false
  const watching = watchBooks(store, seen, () => isOver)
  const sending = Array.from({ length: Number(values.lanes) }, (_, lane) =>
    sendAll(origins[lane % count] ?? '', key, `told-${lane}`, told, () => isOver))
  await sleep(Number(values.seconds) * 1000)
  // A settlement waits to be collected, or for the commit before its own: the slower of both.
  const commitMs = Math.max(...await Promise.all(origins.map(slowestCommitMs)))
  const boundMs = Math.max(usualBoundMs, Math.max(flushMs, commitMs) + commitMs)
  for (const { child } of gateways) child.kill('SIGKILL')
  const killedMs = performance.now()
  await Promise.all(gateways.map(({ exited }) => exited))
  isOver = true
  await Promise.all([...sending, watching])

  const { engine } = store
  process.stdout.write(`${engine}: the slowest commit took up to ${commitMs} ms, so the bound is ${boundMs} ms\n`)
  const rows = await store.all<{ ref: string }>("select ref from entry where kind = 'usage'")
  const booked = new Set(rows.map(({ ref }) => ref))
  for (const kind of ['streams', 'whole answers']) {
    const some = [...told].filter(([, { isStream }]) => isStream === (kind === 'streams'))
    const late = some.flatMap(([id, { atMs }]) => {
      const seenMs = seen.get(id)
      return seenMs === undefined ? [] : [Math.max(0, seenMs - atMs)]
    }).sort((one, other) => one - other)
    const missing = some.filter(([id]) => !booked.has(id)).map(([, { atMs }]) => Math.round(killedMs - atMs))
    const at = (share: number) => Math.round(late[Math.floor(late.length * share)] ?? 0)
    process.stdout.write(`${engine}: ${some.length} ${kind}, booked ${at(0.5)} ms later (median), ` +
      `${at(0.99)} (p99), ${Math.round(late.at(-1) ?? 0)} (most); ` +
      `missing, by the ms before the kill: ${missing.join(' ')}\n`)
    // The commit that was running at the kill is in no metric: it may take what another one was seen to take.
    const longestMs = Math.max(boundMs, late.at(-1) ?? 0)
    report.check(missing.every(ms => ms <= longestMs), `all ${kind} that ended before the bound are in the books`)
  }
  const violations = await checkLedger(store)
  report.check(violations.length === 0, `the books add up: ${JSON.stringify(violations)}`)
  await store.close()
}

await using workspace = await mkdtempDisposable(join(tmpdir(), 'chaos-told-'))
await using postgres = await startPostgresProcess()
for (let number = 0; number < Number(values.rounds); number++) {
  const ends: (() => unknown)[] = []
  await using folder = await mkdtempDisposable(join(workspace.path, 'node-'))
  try {
    if (number % 2 === 0) await round(await postgres.createSchema(), folder.path, nodes, ends)
    else await round(`sqlite:${join(folder.path, 'tollgate.db')}`, folder.path, 1, ends)
  } finally {
    for (const end of ends) await end()
  }
}
report.close()
