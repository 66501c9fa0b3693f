import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { usage } from '../../../services/reports/usage.ts'
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
  await t.rejects(store.run(`insert ${add} on conflict (id) where id is not null do update set amount = 7`), refused)
  const removal = store.engine === 'sqlite' ? `insert or replace ${add}` : 'truncate entry'
  await t.rejects(store.run(removal), refused)
  t.same(await store.all('select id, amount from entry'), [{ id: 'e', amount: 5 }])
})

t.test('tables that are made anew on SQLite keep their rows, indexes and triggers', async (t) => {
  const path = join(t.testdir(), 'tollgate.db')
  const before = new DatabaseSync(path)
  const migrations = join(import.meta.dirname, '../../../services/store/migrations')
  const files = (await readdir(migrations)).filter((file) => file < '013').sort()
  before.exec('create table migration (id integer primary key, name text not null, applied_at bigint not null)')
  for (const file of files) {
    before.exec(sqlFor('sqlite', await readFile(join(migrations, file), 'utf8')))
    const [id = '', name = ''] = file.replace('.sql', '').split(/-(.*)/)
    before.prepare('insert into migration (id, name, applied_at) values (?, ?, 0)').run(Number(id), name)
  }
  before.exec(`
    insert into account (id, name, currency, created_at) values ('a', 'A', 'usd', 0);
    insert into entry (id, at, debit, credit, amount, kind, reason, seq)
      values ('deposit:1', 1, 'funding', 'a', 900, 'deposit', 'because', 7);
    insert into entry (id, at, debit, credit, amount, kind, ref, model, usage, estimated, hold, api_key, chain)
      values ('usage:h', 2, 'a', 'revenue', 5, 'usage', 'req_1', 'm', '{"prompt":3,"completion":4}', 1, 'h', 'k', 'a');
    insert into entry (id, at, debit, credit, amount, kind, reverses)
      values ('refund:1', 3, 'revenue', 'a', 5, 'refund', 'usage:h');
    insert into hold (id, account, kind, owner, amount, spare, created_at) values ('n/1', 'a', 'node', 'n', 9, 4, 1);
    insert into hold (id, account, kind, owner, amount, state, settled, created_at, expires_at, resolved_at)
      values ('h', 'a', 'job', 'n', 8, 1, 5, 1, 99, 2);
    insert into request_log (request, at, api_key, account, route, model, provider, status, outcome, attempts,
      prompt_tokens, completion_tokens, cost_nano, first_byte_ms, total_ms, weight, routed)
      values ('req_1', 2, 'k', 'a', '/v1/x', 'm', 'p', 200, 0, 1, 3, 4, 5, null, 6, 1, 'auto');`)
  const tables = ['entry', 'hold', 'request_log']
  const parts = `select type, name from sqlite_schema
    where tbl_name in ('entry', 'hold', 'request_log') and type <> 'table' order by type, name`
  const rowsOf = (table: string) => before.prepare(`select * from ${table} order by rowid`).all()
  const rows = new Map(tables.map((table) => [table, rowsOf(table)]))
  const names = before.prepare(parts).all()
  before.close()

  const store = await openStore(`sqlite:${path}`)
  t.teardown(() => store.close())
  t.match(rows.get('entry'), [{ seq: 7 }, { prompt_tokens: 3, completion_tokens: 4 }, { reverses: 'usage:h' }])
  // What was generated is worked out when it is asked for.
  for (const row of rows.get('entry') ?? []) {
    delete row['prompt_tokens']
    delete row['completion_tokens']
  }
  // What came later begins with nothing.
  for (const row of rows.get('hold') ?? []) row['booked'] = 0
  for (const table of tables) t.same(await store.all(`select * from ${table} order by rowid`), rows.get(table), table)
  const [counted] = await usage(store, { by: [], from: 0, to: 10 })
  t.match(counted, { requests: 1, promptTokens: 3, completionTokens: 4 })
  // Ids of entries are unique by an index that leaves out those without one; two indexes were given up later.
  const dropped = ['sqlite_autoindex_entry_1', 'entry_debit', 'entry_credit']
  const kept = names.filter(({ name }) => !dropped.includes(String(name)))
  const byTypeAndName = ({ type, name }: Record<string, unknown>) => `${String(type)} ${String(name)}`
  t.strictSame((await store.all<Record<string, unknown>>(parts)).map(byTypeAndName),
    [...kept, { type: 'index', name: 'entry_id' }].map(byTypeAndName).sort())
  await store.run("insert into entry (id, at, debit, credit, amount, kind) values ('e', 4, 'funding', 'a', 1, 'adjust')")
  t.same(await store.all('select seq from entry order by seq'), [{ seq: 7 }, { seq: 8 }, { seq: 9 }, { seq: 10 }])
  await t.rejects(store.run("update entry set kind = 'usage'"), { message: /append-only/ })
  for (const wrong of ["kind = 'other'", 'state = 4', 'amount = -1']) {
    await t.rejects(store.run(`update hold set ${wrong}`), { message: /constraint/i }, wrong)
  }
})
