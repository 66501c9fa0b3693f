import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { sqlFor } from '../../../services/store/migrations.ts'
import { openSqlite } from '../../../services/store/sqlite.ts'

const applied = 'select id, name, applied_at from migration order by id'

t.test('an empty database gets all tables, and opening it again changes nothing', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  const store = await openSqlite(path)
  for (const table of ['account', 'api_key', 'entry']) t.same(await store.all(`select * from ${table}`), [], table)
  const before = await store.all(applied)
  t.match(before[0], { id: 1, name: 'accounts-and-keys', applied_at: Number })
  await store.close()

  const again = await openSqlite(path)
  t.teardown(() => again.close())
  t.same(await again.all(applied), before)
})

t.test('processes that open an empty database at once migrate it once', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  const stores = await Promise.all(Array.from({ length: 4 }, () => openSqlite(path)))
  t.teardown(() => Promise.all(stores.map((store) => store.close())))
  const histories = await Promise.all(stores.map((store) => store.all(applied)))
  for (const history of histories) t.same(history, histories[0])
})

t.test('a database of a newer version is refused and left as it is', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  await (await openSqlite(path)).close()
  change(path, "insert into migration values (999, 'from-the-future', 0)")
  await t.rejects(openSqlite(path), { message: /newer version of Tollgate \(migration 999, from-the-future\)/ })
  const database = new DatabaseSync(path)
  t.teardown(() => database.close())
  t.equal(database.prepare('select max(id) as last from migration').get()?.['last'], 999)
})

t.test('a database with another history is refused', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  await (await openSqlite(path)).close()
  change(path, "update migration set name = 'something-else' where id = 1")
  await t.rejects(openSqlite(path), { message: /migration 1, something-else/ })
})

t.test('lines of an engine are for that engine only', async (t) => {
  const sql = 'both\n  -- engine: sqlite\nlite\n-- engine: postgres\npg\n-- engine: all\nboth again'
  const words = (text: string) => text.split('\n').filter((line) => !line.includes('--'))
  t.same(words(sqlFor('sqlite', sql)), ['both', 'lite', 'both again'])
  t.same(words(sqlFor('postgres', sql)), ['both', 'pg', 'both again'])
})

t.test('entries can be added, never changed, replaced or deleted', async (t) => {
  const store = await openSqlite(':memory:')
  t.teardown(() => store.close())
  const add = "into entry (id, at, debit, credit, amount, kind) values ('e', 0, 'funding', 'a', 5, 'deposit')"
  await store.run(`insert ${add}`)
  const refused = { message: /append-only/ }
  await t.rejects(store.run('update entry set amount = 6'), refused)
  await t.rejects(store.run('delete from entry'), refused)
  await t.rejects(store.run(`insert or replace ${add}`), refused)
  await t.rejects(store.run(`insert ${add} on conflict (id) do update set amount = 7`), refused)
  t.same(await store.all('select id, amount from entry'), [{ id: 'e', amount: 5 }])
})

function change (path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}
