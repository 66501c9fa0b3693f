import t from 'tap'
import { sqlFor } from '../../../services/store/migrations.ts'
import { openStore } from '../../../services/store/open.ts'
import { forEachEngine } from '../../engines.ts'

const applied = 'select id, name, applied_at from migration order by id'

forEachEngine(t, 'an empty database gets all tables, and opening it again changes nothing', async (t, database) => {
  const store = await database.open()
  for (const table of ['account', 'api_key', 'entry']) t.same(await store.all(`select * from ${table}`), [], table)
  const before = await store.all(applied)
  t.match(before[0], { id: 1, name: 'accounts-and-keys', applied_at: Number })
  await store.close()

  const again = await database.open()
  t.same(await again.all(applied), before)
})

forEachEngine(t, 'nodes that open an empty database at once migrate it once', async (t, database) => {
  const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()))
  const histories = await Promise.all(stores.map((store) => store.all(applied)))
  for (const history of histories) t.same(history, histories[0])
})

forEachEngine(t, 'a database of a newer version is refused and left as it is', async (t, database) => {
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

t.test('lines of an engine are for that engine only', async (t) => {
  const sql = 'both\n  -- engine: sqlite\nlite\n-- engine: postgres\npg\n-- engine: all\nboth again'
  const words = (text: string) => text.split('\n').filter((line) => !line.includes('--'))
  t.same(words(sqlFor('sqlite', sql)), ['both', 'lite', 'both again'])
  t.same(words(sqlFor('postgres', sql)), ['both', 'pg', 'both again'])
})

forEachEngine(t, 'entries can be added, never changed, replaced or deleted', async (t, database) => {
  const store = await database.open()
  const add = "into entry (id, at, debit, credit, amount, kind) values ('e', 0, 'funding', 'a', 5, 'deposit')"
  await store.run(`insert ${add}`)
  const refused = { message: /append-only/ }
  await t.rejects(store.run('update entry set amount = 6'), refused)
  await t.rejects(store.run('delete from entry'), refused)
  await t.rejects(store.run(`insert ${add} on conflict (id) do update set amount = 7`), refused)
  const removal = store.engine === 'sqlite' ? `insert or replace ${add}` : 'truncate entry'
  await t.rejects(store.run(removal), refused)
  t.same(await store.all('select id, amount from entry'), [{ id: 'e', amount: 5 }])
})
