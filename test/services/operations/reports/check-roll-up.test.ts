import t, { type Test } from 'tap'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { checkBooks } from '../../../../services/billing/ledger/check/check-books.ts'
import { createCorrections } from '../../../../services/billing/ledger/corrections.ts'
import { rollUpViolations } from '../../../../services/operations/reports/check-roll-up.ts'
import { rollUpUsage } from '../../../../services/operations/reports/roll-up.ts'
import type { Store } from '../../../../services/store/store.ts'
import { createDatabase, forEachEngine, type Database } from '../../../helpers/engines.ts'
import { runLedgerCheck } from '../../../../services/operations/admin/entries.ts'
import { openAdministration } from '../admin/helper.ts'

const rule = 'usage by day is the sum of its entries'

/** Books with usage of two models, a refund, and what is rolled up of it. */
async function openBooks (t: Test, { open }: Database) {
  const store = await open()
  const admin = await openAdministration(t, store)
  await createAccounts(store).create({ id: 'acme' })
  await createAccounts(store).deposit({ id: 'first', account: 'acme', amountNano: 1_000_000 })
  const request = { account: 'acme', key: 'k', provider: 'up' }
  const entry = await admin.spend({ ...request, amountNano: 100 })
  await admin.spend({ ...request, amountNano: 50, costNano: 30, reportedNano: 31, tags: { project: 'one' } })
  await admin.spend({ ...request, amountNano: 7, model: 'other', estimated: true })
  await createCorrections(store).refund({ id: 'back', entry, amountNano: 10 })
  await rollUpUsage(store)
  return { store, admin, spend: () => admin.spend({ ...request, amountNano: 1 }) }
}

async function violationsOf (store: Store) {
  return (await checkBooks(store, { derived: rollUpViolations })).violations
}

forEachEngine(t, 'usage by day that agrees with its entries is no violation', async (t, database) => {
  const { store, spend } = await openBooks(t, database)
  t.same(await violationsOf(store), [])
  await spend()
  t.same(await violationsOf(store), [], 'what is not rolled up yet is not compared')
  await rollUpUsage(store)
  t.same(await violationsOf(store), [])
})

interface Damage {
  sql: string
  subject: RegExp
  expected: number | null
  found: number | null
}

const ofOther = "where model = 'other'"
const damages: Record<string, Damage> = {
  'an amount': {
    sql: `update usage_day set amount = amount + 1 ${ofOther}`, subject: / acme k other amount$/, expected: 7, found: 8
  },
  'a count of tokens': {
    sql: `update usage_day set prompt = 9 ${ofOther}`, subject: / acme k other prompt$/, expected: 3, found: 9
  },
  'another model': {
    sql: `update usage_day set model = 'wrong' ${ofOther}`, subject: / wrong requests$/, expected: null, found: 1
  },
  'a lost row': {
    sql: `delete from usage_day ${ofOther}`, subject: / other requests$/, expected: 1, found: null
  },
  'a row too many': {
    sql: `
      insert into usage_day
      select 3, account, chain, api_key, model, provider, estimated, tags, 5, prompt, completion, cached, reasoning,
        images, milliseconds, amount, costed_requests, cost, costed_amount, reported_requests, reported, expected, saved
      from usage_day ${ofOther}`,
    subject: /^1970-01-04 acme k other requests$/,
    expected: null,
    found: 5
  },
  'all rows lost': {
    sql: 'delete from usage_day', subject: / other requests$/, expected: 1, found: null
  },
  'entries that count as rolled up': {
    sql: 'update usage_progress set seq = seq + 5', subject: /^usage_progress$/, expected: 5, found: 10
  }
}

for (const engine of ['sqlite', 'postgres'] as const) {
  t.test(`damage to usage by day is found, and mended as advised (${engine})`, async t => {
    for (const [name, { sql, subject, expected, found }] of Object.entries(damages)) {
      const { store, admin } = await openBooks(t, await createDatabase(t, engine))
      await store.run(sql)
      const violations = await violationsOf(store)
      t.ok(violations.every(violation => violation.rule === rule), name)
      t.match(violations.find(violation => subject.test(violation.subject)), { expected, found }, name)
      const { ok, violations: [shown] } = await runLedgerCheck(admin)
      t.notOk(ok)
      t.match(shown?.advice, /delete from usage_day.*update usage_progress set seq = 0/)

      await store.transaction(async queries => {
        await queries.run('delete from usage_day')
        await queries.run('update usage_progress set seq = 0')
      })
      await rollUpUsage(store)
      t.same(await violationsOf(store), [], `${name}, mended`)
    }
  })
}

forEachEngine(t, 'usage by day is compared while other nodes roll it up', async (t, database) => {
  const { store, spend } = await openBooks(t, database)
  const over = new AbortController()
  const traffic = (async () => {
    while (!over.signal.aborted) {
      await spend()
      await rollUpUsage(store)
    }
  })()
  for (let round = 0; round < 10; round++) t.same(await violationsOf(store), [])
  over.abort()
  await traffic
})
