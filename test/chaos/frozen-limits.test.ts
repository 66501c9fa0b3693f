import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createRateLimiter } from '../../services/keys/limits/limits.ts'
import { noLimits } from '../../services/shared/limits.ts'
import { createDatabase } from '../helpers/engines.ts'
import { runningMs } from '../helpers/running-time.ts'

const freezes = 30
const frozenMs = 100
const maxDelayMs = 1_000

/** The limits of a node with a database of its own, and a clock that the test moves. */
async function startNode (t: Test) {
  const database = await createDatabase(t, 'postgres')
  const store = await database.open()
  const time = { ms: 600_000 }
  const limits = createRateLimiter({
    store: await database.open(), node: 'one', clock: () => time.ms, onError: error => t.fail(String(error))
  })
  t.teardown(() => limits.close())
  return { database, store, time, limits }
}

t.test('a node that is frozen in mid-exchange delays nothing on another node', async t => {
  const { database, store, time, limits } = await startNode(t)
  const program = join(import.meta.dirname, 'exchanging-node.ts')
  const child = fork(program, [`${database.url}&application_name=frozen`, 'key:shared', 'key:busy'])
  t.teardown(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  await once(child, 'message')
  const longestMs: Record<string, number> = { 'key:other': 0, 'key:shared': 0 }
  const openTransactions: unknown[] = []
  for (let freeze = 0; freeze < freezes; freeze++) {
    await sleep(Math.random() * 40)
    child.kill('SIGSTOP')
    try {
      // In another minute, a node needs another allowance.
      time.ms += 60_000
      await Promise.all(Object.keys(longestMs).map(async scope => {
        const startedMs = runningMs()
        const admission = await limits.admit([{ ...noLimits, scope, requestsPerMinute: 1_000_000 }], 0)
        admission.end({ counts: true, tokens: null })
        longestMs[scope] = Math.max(longestMs[scope] ?? 0, runningMs() - startedMs)
      }))
      await sleep(frozenMs)
      openTransactions.push(...await store.all(`
        select state, query from pg_stat_activity where application_name = 'frozen' and xact_start is not null`))
    } finally {
      child.kill('SIGCONT')
    }
  }
  t.same(openTransactions, [], 'no session of the frozen node has a transaction')
  for (const [scope, ms] of Object.entries(longestMs)) t.ok(ms < maxDelayMs, `${scope}: ${ms} ms`)
})

/** Locks the row of a limit as an operator's open transaction does. */
async function lockRow (t: Test, url: string, scope: string): Promise<() => Promise<void>> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('begin')
  const { rowCount } = await client.query('select * from rate_window where scope = $1 for update', [scope])
  t.equal(rowCount, 1)
  const unlock = async () => { await client.end() }
  t.teardown(unlock)
  return unlock
}

t.test('a locked row delays only its own limit, by 2 s, and then the node counts alone', async t => {
  const { database, store, time, limits } = await startNode(t)
  const admit = async (scope: string): Promise<number> => {
    const startedMs = runningMs()
    await limits.admit([{ ...noLimits, scope, requestsPerMinute: 5 }], 0)
    return runningMs() - startedMs
  }
  await admit('key:locked')
  await admit('key:other')
  const unlock = await lockRow(t, database.url, 'key:locked')
  time.ms += 60_000
  const startedMs = performance.now()
  const waiting = Promise.all([admit('key:locked'), admit('key:locked')])
  for (let index = 0; index < 5; index++) {
    time.ms += 60_000
    const ms = await admit('key:other')
    t.ok(ms < maxDelayMs, `another limit: ${ms} ms`)
  }
  for (const ms of await waiting) t.ok(ms < 4_000, `the locked limit: ${ms} ms`)
  t.ok(performance.now() - startedMs > 1_500, 'by no less')
  const nextMs = await admit('key:locked')
  t.ok(nextMs < maxDelayMs, `once the node counts alone: ${nextMs} ms`)
  await unlock()
  for (let used = 0; used < 3;) {
    // Alone for a second at most; then the row is written.
    time.ms += 1_000
    await Promise.allSettled([admit('key:locked')])
    await sleep(20)
    const row = await store.get<{ used: number }>("select used from rate_window where scope = 'key:locked'")
    used = row?.used ?? 0
  }
  t.pass('what was admitted meanwhile is counted')
})
