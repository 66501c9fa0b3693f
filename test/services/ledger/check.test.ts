import t from 'tap'
import { checkLedger } from '../../../services/ledger/check.ts'
import { forEachEngine } from '../../engines.ts'
import { createBooks, reservation, spend, startLedger } from './helper.ts'

const entry = (values: string) => `
  insert into entry (idempotency_key, at, debit, credit, amount, kind, hold, chain, reverses) values ('wrong', 0, ${values})`
const hold = (values: string) => `
  insert into hold (id, account, kind, owner, amount, created_at, state, settled, resolved_at)
  values ('wrong', 'acme', ${values})`

/** What breaks each rule, and nothing else. */
const damages: Record<string, { sql: string[], subject: string | RegExp }> = {
  'held is the sum of open holds': {
    sql: ["update account set held = held + 1 where id = 'acme'"], subject: 'acme'
  },
  'spent is usage less refunds': {
    sql: ["update account set spent = spent + 1 where id = 'budget'"], subject: 'budget'
  },
  'credits are deposits and adjustments': {
    sql: ["update account set credits = credits + 1 where id = 'acme'"], subject: 'acme'
  },
  'no account is overdrawn': {
    sql: [entry("'acme', 'funding', 500, 'adjust', null, null, null"),
      "update account set credits = credits - 500 where id = 'acme'"],
    subject: 'acme'
  },
  'a settled hold has its entry, and no other hold has one': {
    sql: [hold("'job', 'n', 5, 0, 1, 5, 0")], subject: 'wrong acme'
  },
  'the rows of a hold end alike': {
    sql: [hold("'job', 'n', 5, 0, 2, null, 0"),
      "insert into hold (id, account, kind, owner, amount, created_at) values ('wrong', 'budget', 'job', 'n', 0, 0)"],
    subject: 'wrong'
  },
  'no entry is refunded by more than it was': {
    sql: [entry("'revenue', 'acme', 601, 'refund', null, 'acme budget', (select max(seq) from entry)"),
      "update account set spent = 0 where id in ('acme', 'budget')",
      "insert into entry (idempotency_key, at, debit, credit, amount, kind, chain) values ('even', 0, 'acme', 'revenue', 1, 'usage', 'acme budget')"],
    subject: /^entry_\d+$/
  },
  'every entry is between the right accounts': {
    sql: [entry("'funding', 'revenue', 5, 'deposit', null, null, null")], subject: 'wrong'
  },
  'every posting names a chain that includes the paying account': {
    sql: [entry("'acme', 'revenue', 5, 'usage', null, 'nothing', null")], subject: /^entry_\d+$/
  },
  'customers\' accounts and the gateway\'s own add up to zero': {
    sql: [entry("'nobody', 'funding', 5, 'suspense', null, null, null")], subject: 'all accounts'
  }
}

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
      const violations = await checkLedger(queries)
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
