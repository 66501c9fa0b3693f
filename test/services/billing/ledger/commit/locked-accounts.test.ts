import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t, { type Test } from 'tap'
import { createAccounts } from '../../../../../services/billing/ledger/accounts.ts'
import type { Ledger } from '../../../../../services/billing/ledger/ledger.ts'
import { createDatabase } from '../../../../helpers/engines.ts'
import { assertBooks, createBooks, posting, reservation, rowOf, startLedger } from '../helper.ts'
import { runningMs } from '../../../../helpers/running-time.ts'

const usd = 1_000_000_000
/** More than a node keeps spare, so that each asks the database. */
const largeNano = 60_000_000
/** What a request of another account may wait at most. */
const maxDelayMs = 1_000

/** Two nodes on one Postgres, which is the only engine whose nodes may wait for each other's locks. */
async function openTest (t: Test, accounts: readonly string[]) {
  const database = await createDatabase(t, 'postgres')
  const store = await database.open()
  await createBooks(store, Object.fromEntries(accounts.map(id => [id, 1_000 * usd])))
  const nodes = [startLedger(t, await database.open()).ledger, startLedger(t, await database.open()).ledger]
  return { database, store, nodes }
}

/** Locks the row of an account as a transaction does whose process hangs. */
async function lockAccount (t: Test, url: string, account: string): Promise<() => Promise<void>> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('begin')
  await client.query('select * from account where id = $1 for update', [account])
  const unlock = async () => { await client.end() }
  t.teardown(unlock)
  return unlock
}

interface Tally { answers: number, longestMs: number, refusals: unknown[], spentNano: number }

/** Spends from an account, one request after the other, until it is stopped. */
async function spendSteadily (
  ledger: Ledger, chain: string[], amountNano: number, signal: AbortSignal
): Promise<Tally> {
  const tally: Tally = { answers: 0, longestMs: 0, refusals: [], spentNano: 0 }
  while (!signal.aborted) {
    const startedMs = runningMs()
    try {
      const hold = await ledger.reserve(reservation(amountNano, { chain, fresh: true }))
      hold.settle(posting(7))
      tally.spentNano += 7
      tally.answers++
    } catch (error) {
      tally.refusals.push(error)
    }
    tally.longestMs = Math.max(tally.longestMs, runningMs() - startedMs)
    await sleep(5)
  }
  return tally
}

t.test('a locked account delays no other account, and nothing of it is lost', async t => {
  const { database, store, nodes } = await openTest(t, ['team', 'victim', 'other'])
  const ending = new AbortController()
  const spend = (chain: string[], amountNano = largeNano) =>
    Promise.all(nodes.map(node => spendSteadily(node, chain, amountNano, ending.signal)))
  const work = [spend(['other']), spend(['team']), spend(['victim', 'team']), spend(['victim', 'team'], 10)] as const
  await sleep(300)
  const unlock = await lockAccount(t, database.url, 'victim')
  await sleep(4_000)
  const answeredMs = await Promise.all(['other', 'team'].map(async account => {
    const startedMs = runningMs()
    for (const node of nodes) await node.balance(account)
    await createAccounts(store).deposit({ id: `d-${account}`, account, amountNano: 1 })
    return runningMs() - startedMs
  }))
  for (const ms of answeredMs) t.ok(ms < 2 * maxDelayMs, `other operations took ${ms} ms`)
  await unlock()
  await sleep(1_000)
  const late = nodes.map(node => node.reserve(reservation(largeNano, { chain: ['victim', 'team'] })))
  for (const hold of await Promise.all(late)) hold.release()
  ending.abort()
  const [other, team, locked, small] = await Promise.all(work)
  for (const { longestMs, refusals, answers } of [...other, ...team]) {
    t.same(refusals, [])
    t.ok(longestMs < maxDelayMs, `${answers} answers, the slowest after ${longestMs} ms`)
  }
  for (const { longestMs, refusals } of locked) {
    t.ok(longestMs < 4_000, `an answer of the locked account after ${longestMs} ms`)
    t.ok(refusals.length > 0)
    for (const refusal of refusals) t.match(refusal, { status: 503, code: 'account_locked' })
  }
  for (const node of nodes) await node.close()
  const spentOf = (tallies: readonly Tally[]) => tallies.reduce((sum, { spentNano }) => sum + spentNano, 0)
  t.match(await rowOf(store, 'other'), { spent: spentOf(other), held: 0 })
  t.match(await rowOf(store, 'victim'), { spent: spentOf([...locked, ...small]), held: 0 })
  t.match(await rowOf(store, 'team'), { spent: spentOf([...team, ...locked, ...small]), held: 0 })
  await assertBooks(t, store)
})
