import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { Test } from 'tap'
import { openSqlite } from '../../../services/store/sqlite.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'

async function openWithTable (t: Test, path: string): Promise<Store> {
  const store = await openSqlite(path, { busyTimeoutMs: 200 })
  t.teardown(() => store.close())
  await store.run('create table note (id bigint primary key, text text)')
  return store
}

async function ids (store: Store): Promise<number[]> {
  return (await store.all<{ id: number }>('select id from note order by id')).map(({ id }) => id)
}

for (const kind of ['a file', ':memory:']) {
  t.test(`in ${kind}`, async (t) => {
    const open = (t: Test) => openWithTable(t, kind === ':memory:' ? kind : join(t.testdir(), 'deep', 'notes.db'))

    t.test('transactions run one after the other, first come, first served', async (t) => {
      const store = await open(t)
      await store.run('insert into note (id, text) values (1, $1)', [''])
      await Promise.all(['a', 'b', 'c', 'd'].map((letter) => store.transaction(async (queries) => {
        const note = await queries.get<{ text: string }>('select text from note where id = 1')
        await new Promise(setImmediate)
        await queries.run('update note set text = $1 where id = 1', [note?.text + letter])
      })))
      t.same(await store.get('select text from note'), { text: 'abcd' })
    })

    t.test('a transaction that waits for itself times out', async (t) => {
      const store = await open(t)
      await t.rejects(store.transaction(() => store.run('insert into note (id) values (1)')), StoreUnavailable)
      t.equal(await store.run('insert into note (id) values (2)'), 1)
      t.same(await ids(store), [2])
    })
  })
}

t.test('an open read does not hide later commits', async (t) => {
  const store = await openWithTable(t, join(t.testdir(), 'notes.db'))
  await store.run('insert into note (id) values (1), (2)')
  await store.get('select id from note')
  await store.run('insert into note (id) values (3)')
  t.same(await ids(store), [1, 2, 3])
})

t.test('a transaction that has read may write, whatever another process did meanwhile', async (t) => {
  const path = join(t.testdir(), 'notes.db')
  const store = await openWithTable(t, path)
  const other = await openSqlite(path)
  t.teardown(() => other.close())
  const { outside } = await store.transaction(async (queries) => {
    await queries.all('select id from note')
    const outside = other.run('insert into note (id) values (2)')
    await new Promise(setImmediate)
    await queries.run('insert into note (id) values (1)')
    return { outside }
  })
  t.equal(await outside, 1)
  t.same(await ids(store), [1, 2])
})

t.test('the file is in WAL mode and references are enforced', async (t) => {
  const path = join(t.testdir(), 'notes.db')
  const store = await openWithTable(t, path)
  await store.run('insert into note (id) values (1)')
  t.ok(existsSync(`${path}-wal`))
  await t.rejects(store.run(`insert into api_key (id, secret_sha256, account, label, created_at)
    values ('k', '', 'nobody', '', 0)`), { message: /FOREIGN KEY/ })
})

t.test('waiting for a lock of another process times out as StoreUnavailable', async (t) => {
  const path = join(t.testdir(), 'notes.db')
  const store = await openWithTable(t, path)
  const other = new DatabaseSync(path)
  t.teardown(() => other.close())
  other.exec('begin immediate')
  await t.rejects(store.run('insert into note (id) values (1)'), StoreUnavailable)
  await t.rejects(store.transaction((queries) => queries.run('insert into note (id) values (1)')), StoreUnavailable)
  t.same(await ids(store), [], 'reading goes on')

  const waiting = store.run('insert into note (id) values (2)')
  other.exec('commit')
  t.equal(await waiting, 1)
})

t.test('a file that is not a database cannot be opened, and the error names it', async (t) => {
  const path = join(t.testdir({ 'notes.db': 'this is a text, and long enough to be no header of a database' }), 'notes.db')
  await t.rejects(openSqlite(path), { name: 'StoreUnavailable', message: /notes\.db/ })
})
