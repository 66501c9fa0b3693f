import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { sqlFor } from '../../../services/store/migrations.ts'
import { openStore } from '../../../services/store/open.ts'
import { createEmptyDatabase, forEachEngine } from '../../helpers/engines.ts'

const migrations = join(import.meta.dirname, '../../../services/store/migrations')
const applied = 'select id, name, applied_at from migration order by id'

forEachEngine(t, 'an empty database gets all tables, and opening it again changes nothing', async (t, database) => {
  const store = await database.open()
  for (const table of ['account', 'api_key', 'entry']) t.same(await store.all(`select * from ${table}`), [], table)
  const before = await store.all(applied)
  t.match(before[0], { id: 1, name: 'accounts-and-keys', applied_at: Number })
  await store.close()

  const again = await database.open()
  t.same(await again.all(applied), before)
}, createEmptyDatabase)

forEachEngine(t, 'nodes that open an empty database at once migrate it once', async (t, database) => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()))
  const histories = await Promise.all(stores.map((store) => store.all(applied)))
  for (const history of histories) t.same(history, histories[0])
}, createEmptyDatabase)

forEachEngine(t, 'a database of a newer version is refused and left unchanged', async (t, database) => {
  const store = await database.open()
  await store.run("insert into migration (id, name, applied_at) values (999, 'from-the-future', 0)")
  await t.rejects(openStore(database.url), { message: /newer version of Tollgate \(migration 999, from-the-future\)/ })
  t.same(await store.get('select max(id) as last from migration'), { last: 999 })
})

forEachEngine(t, 'a database with another history is refused', async (t, database) => {
  const store = await database.open()
  await store.run("update migration set name = 'something-else' where id = 1")
  await t.rejects(openStore(database.url), { message: /migration 1, something-else/ })
})

t.test('marked lines of a migration apply to their engine only', async (t) => {
  const sql = 'both\n  -- engine: sqlite\nlite\n-- engine: postgres\npg\n-- engine: all\nboth again'
  const words = (text: string) => text.split('\n').filter((line) => !line.includes('--'))
  t.same(words(sqlFor('sqlite', sql)), ['both', 'lite', 'both again'])
  t.same(words(sqlFor('postgres', sql)), ['both', 'pg', 'both again'])
})

forEachEngine(t, 'entries can be added, never changed, replaced or deleted', async (t, database) => {
  const store = await database.open()
  const add = "into entry (idempotency_key, at, debit, credit, amount, kind) values ('e', 0, 'funding', 'a', 5, 'deposit')"
  await store.run(`insert ${add}`)
  const refused = { message: /append-only/ }
  await t.rejects(store.run('update entry set amount = 6'), refused)
  await t.rejects(store.run('delete from entry'), refused)
  await t.rejects(store.run(`insert ${add} on conflict (idempotency_key) where idempotency_key is not null do update set amount = 7`), refused)
  const removal = store.engine === 'sqlite' ? `insert or replace ${add}` : 'truncate entry'
  await t.rejects(store.run(removal), refused)
  t.same(await store.all('select idempotency_key, amount from entry'), [{ idempotency_key: 'e', amount: 5 }])
})

t.test('a database that has the first migrations gets only those that are missing', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  const before = new DatabaseSync(path)
  before.exec(sqlFor('sqlite', await readFile(join(migrations, '001-accounts-and-keys.sql'), 'utf8')))
  before.exec(`
    create table migration (id integer primary key, name text not null, applied_at bigint not null);
    insert into migration (id, name, applied_at) values (1, 'accounts-and-keys', 7);
    insert into account (id, name, currency, created_at) values ('a', 'A', 'usd', 0);`)
  before.close()

  const store = await openStore(`sqlite:${path}`)
  t.teardown(() => store.close())
  t.same(await store.all('select id, name from account'), [{ id: 'a', name: 'A' }])
  const history = await store.all(applied)
  t.same(history[0], { id: 1, name: 'accounts-and-keys', applied_at: 7 })
  t.equal(history.length, (await readdir(migrations)).length)
})

forEachEngine(t, 'the ledger\'s tables reject invalid values', async (t, database) => {
  const store = await database.open()
  await store.run("insert into account (id, name, currency, created_at) values ('a', 'A', 'usd', 0)")
  await store.run("insert into hold (id, account, kind, owner, amount, spare, created_at) values ('n/1', 'a', 'node', 'n', 9, 4, 1)")
  for (const wrong of ["kind = 'other'", 'state = 4', 'amount = -1', 'amount = 3', 'state = 1', 'resolved_at = 1']) {
    await t.rejects(store.run(`update hold set ${wrong}`), { message: /constraint/i }, wrong)
  }
  const entry = (kind: string, amount: number, id = 'null') =>
    store.run(`insert into entry (idempotency_key, at, debit, credit, amount, kind) values (${id}, 4, 'funding', 'a', ${amount}, '${kind}')`)
  for (const [kind, amount, key] of [['usage', -1, 'null'], ['deposit', 0, "'e'"], ['adjust', 1, 'null']] as const) {
    await t.rejects(entry(kind, amount, key), { message: /constraint/i }, `${kind} ${amount} ${key}`)
  }
  await entry('usage', 1)
  await entry('usage', 1)
  await entry('usage', 0)
  await entry('adjust', 1, "'e'")
  await t.rejects(entry('deposit', 1, "'e'"), { message: /constraint/i }, 'idempotency keys are unique')
})
