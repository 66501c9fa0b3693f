import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startWorker } from './ledger-node.ts'
import { createDatabase } from '../helpers/engines.ts'
import { temporaryFolder } from '../helpers/process.ts'
import { createBooks, posting, reservation, startLedger } from '../services/billing/ledger/helper.ts'

const usd = 1_000_000_000
/** More than a node keeps spare, so that each request asks the database. */
const largeNano = 60_000_000
const freezes = 20
const frozenMs = 150
const maxDelayMs = 1_000

t.test('a node that is frozen in mid-commit keeps nothing locked', async t => {
  const database = await createDatabase(t, 'postgres')
  const store = await database.open()
  await createBooks(store, { paying: 1_000 * usd, budget: 1_000 * usd, other: 1_000 * usd })
  const { ledger } = startLedger(t, await database.open())
  const worker = await startWorker(`${database.url}&application_name=frozen`, 'frozen', 'w', await temporaryFolder(t))
  t.teardown(async () => await worker.kill())
  const longestMs: Record<string, number> = { other: 0, paying: 0 }
  const openTransactions: unknown[] = []
  for (let freeze = 0; freeze < freezes; freeze++) {
    await sleep(Math.random() * 40)
    worker.freeze()
    try {
      for (const chain of [['other'], ['paying', 'budget']]) {
        const startedMs = performance.now()
        const hold = await ledger.reserve(reservation(largeNano, { chain, fresh: true }))
        longestMs[chain[0] ?? ''] = Math.max(longestMs[chain[0] ?? ''] ?? 0, performance.now() - startedMs)
        hold.settle(posting(7))
      }
      await sleep(frozenMs)
      openTransactions.push(...await store.all(`
        select state, query from pg_stat_activity where application_name = 'frozen' and xact_start is not null`))
    } finally {
      worker.thaw()
    }
  }
  t.same(openTransactions, [], 'no session of the frozen node has a transaction')
  for (const [account, ms] of Object.entries(longestMs)) t.ok(ms < maxDelayMs, `${account}: ${ms} ms`)
})
