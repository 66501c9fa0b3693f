import t from 'tap'
import type { Test } from 'tap'
import pg from 'pg'
import { createDatabase } from './engines.ts'

/** Opens a database as a test of its own does, runs `work`, and returns its name. */
async function use (
  t: Test, work: (client: pg.Client) => Promise<unknown>, { leaks = false } = {}
): Promise<string> {
  let name = ''
  await t.test('a test', async inner => {
    const { url, open } = await createDatabase(inner, 'postgres')
    await open()
    name = new URL(url).pathname
    const client = new pg.Client(url)
    await client.connect()
    await work(client)
    if (leaks) t.teardown(() => client.end())
    else await client.end()
  })
  return name
}

t.test('the next test gets the database of an ended one, as the migrations left it', async t => {
  const tables = ['account', 'hold', 'entry', 'migration', 'usage_progress', 'usage_day']
  const rowsIn = async (client: pg.Client) => {
    const rows = []
    for (const table of tables) rows.push((await client.query(`select * from ${table}`)).rows)
    return rows
  }
  const entry = `insert into entry (idempotency_key, at, debit, credit, amount, kind)
    values ('e', 0, 'funding', 'a', 5, 'deposit') returning *`
  let before: unknown
  let written: unknown
  const first = await use(t, async client => {
    before = await rowsIn(client)
    written = (await client.query(entry)).rows
    await client.query("insert into account (id, name, currency, created_at) values ('a', 'A', 'usd', 0)")
    await client.query('update usage_progress set seq = 7')
    await client.query("update migration set name = 'other' where id = 1")
  })
  const second = await use(t, async client => {
    t.same(await rowsIn(client), before)
    t.same((await client.query(entry)).rows, written, 'with the same sequence number')
  })
  t.equal(second, first)
})

t.test('tables that a test adds and triggers that it drops do not outlive it', async t => {
  const first = await use(t, client => client.query(`
    create table note (id integer primary key);
    create index on note (id);
    alter table note add column text text;
    drop trigger entry_no_change on entry;`))
  const second = await use(t, async client => {
    await t.rejects(client.query('select * from note'), { message: /does not exist/ })
    await t.rejects(client.query('truncate entry'), { message: /append-only/ })
  })
  t.equal(second, first)
})

const changes = [
  'alter table account add column note text', 'create index on account (name)', 'drop table usage_day',
  'create or replace function now_ms () returns bigint language sql return 1', 'drop index chain_account'
]

for (const change of changes) {
  t.test(`a database is not used again after ${change}`, async t => {
    const first = await use(t, client => client.query(change))
    t.not(await use(t, client => client.query('select 1')), first)
  })
}

t.test('a database to which somebody is still connected is not used again', async t => {
  const first = await use(t, client => client.query('select 1'), { leaks: true })
  t.not(await use(t, client => client.query('select 1')), first)
})
