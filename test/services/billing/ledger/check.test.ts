import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { checkLedger } from '../../../../services/billing/ledger/check/check-books.ts'
import { explanations } from '../../../../services/billing/ledger/check/explanations.ts'
import { forEachEngine } from '../../../helpers/engines.ts'
import { damages, entry } from './damages.ts'
import { createBooks, reservation, spend, startLedger } from './helper.ts'

forEachEngine(t, 'every rule detects the damage it is meant for', async (t, database) => {
  const store = await database.open()
  await createBooks(store, { acme: 1_000, budget: 1_000 })
  const { ledger } = startLedger(t, store)
  await spend(ledger, 700, 600, { id: 'job', chain: ['acme', 'budget'], durable: true })
  await ledger.reserve(reservation(100))
  t.same(await checkLedger(store), [])

  for (const [rule, { sql, subject }] of Object.entries(damages)) {
    await t.rejects(store.transaction(async (queries) => {
      for (const statement of sql) await queries.run(statement)
      const violations = await checkLedger({ ...store, reports: queries })
      t.match(violations.find((violation) => violation.rule === rule), { subject }, rule)
      throw new Error('undo')
    }), { message: 'undo' })
  }
  t.same(await checkLedger(store), [])
})

forEachEngine(t, 'an entry without an idempotency key is named by its id', async (t, database) => {
  const store = await database.open()
  await createBooks(store, { acme: 1_000 })
  await store.run("insert into chain (id, account) values ('acme', 'acme')")
  await store.run(`insert into entry (at, debit, credit, amount, kind, chain)
    values (0, 'acme', 'revenue', 5, 'usage', 'acme'), (0, 'acme', 'revenue', 7, 'usage', 'acme')`)
  const usage = await store.get<{ seq: number }>('select max(seq) as seq from entry')
  await store.run(entry(`'revenue', 'acme', 8, 'refund', null, 'acme', ${usage?.seq}`))
  await store.run("update account set spent = 4 where id = 'acme'")
  t.same(await checkLedger(store), [{
    rule: 'no entry is refunded by more than it was', subject: `entry_${usage?.seq}`, expected: 7, found: 8
  }])
})

forEachEngine(t, 'the database rejects a second usage entry of a hold', async (t, database) => {
  const store = await database.open()
  await createBooks(store, { acme: 1_000 })
  await store.run(entry("'acme', 'revenue', 5, 'usage', 'job', null, null"))
  await t.rejects(store.run(entry("'acme', 'revenue', 5, 'usage', 'job', null, null").replace('wrong', 'again')))
})

t.test('docs/ledger-check.md explains each rule as the gateway does', async t => {
  const text = readFileSync(join(import.meta.dirname, '../../../../docs/ledger-check.md'), 'utf8')
  const rows = Object.entries(explanations).map(([rule, { meaning, advice }]) => `| ${rule} | ${meaning} | ${advice} |`)
  t.same(text.split('\n').filter(line => line.startsWith('| ')).slice(1), rows)
})
