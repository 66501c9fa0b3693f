import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import t, { type Test } from 'tap'
import { indexesOf } from '../../../services/store/index-builds.ts'
import { openStore } from '../../../services/store/open.ts'
import { createEmptyDatabase } from '../../helpers/engines.ts'
import { makeOlderDatabase } from './older-database.ts'

const folder = join(import.meta.dirname, '../../../services/store/migrations')

const insertRequest = `
  insert into request_log (request, at, api_key, account, route, model, provider, status, outcome, attempts,
    prompt_tokens, completion_tokens, cost_nano, total_ms, weight)
  values ('r', 0, 'k', 'a', '', '', '', 200, 0, 1, 0, 0, 0, 1, 1)`

async function connect (t: Test, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, query_timeout: 30_000 })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** A database before the indexes of the console, with a transaction that has written to the request log. */
async function olderDatabase (t: Test) {
  const { url } = await createEmptyDatabase(t, 'postgres')
  await makeOlderDatabase({ engine: 'postgres', url }, 'console-lists', insertRequest)
  const [holder, observer] = [await connect(t, url), await connect(t, url)]
  await holder.query('begin')
  await holder.query(insertRequest)
  return { url, holder, observer }
}

/** Resolves once a session builds an index and waits for the open transaction. */
async function indexBuildWaits (observer: pg.Client): Promise<void> {
  for (;;) {
    const { rowCount } = await observer.query(`
      select from pg_stat_activity where query like 'create index%' and wait_event_type = 'Lock'
      and datname = current_database() and query not like '%pg_stat_activity%'`)
    if (rowCount !== 0) return
  }
}

async function open (t: Test, url: string) {
  const store = await openStore(url)
  t.teardown(() => store.close())
  return store
}

const invalid = 'select indexrelid::regclass from pg_index where not indisvalid'

t.test('the nodes of an older version write while a new one builds indexes (postgres)', async t => {
  const { url, holder, observer } = await olderDatabase(t)
  const opening = open(t, url)
  await indexBuildWaits(observer)
  const writer = await connect(t, url)
  await writer.query("set statement_timeout = '5s'")
  for (let count = 0; count < 20; count++) await writer.query(insertRequest)
  await holder.query('commit')
  const store = await opening
  t.match(await store.get('select count(*) as count from request_log where account = $1', ['a']), { count: 22 })
  t.same(await store.all(invalid), [])
  const files = await readdir(folder)
  t.match(await store.get('select count(*) as count from migration'), { count: files.length })
  t.match(await store.get("select to_regclass('request_log_account_at') is not null as found"), { found: 1 })
})

t.test('nodes that build the same indexes at once end with one valid set of them (postgres)', async t => {
  const { url, holder, observer } = await olderDatabase(t)
  const opening = [open(t, url), open(t, url), open(t, url)]
  await indexBuildWaits(observer)
  await holder.query('commit')
  const [store] = await Promise.all(opening)
  t.same(await store?.all(invalid), [])
  t.match(await store?.get('select count(*) as count from migration'), { count: (await readdir(folder)).length })
})

t.test('an index that a node left unfinished is built again (postgres)', async t => {
  const { url, holder, observer } = await olderDatabase(t)
  const failing = await connect(t, url)
  await failing.query("set statement_timeout = '500ms'")
  await t.rejects(failing.query('create index concurrently request_log_account on request_log (account, seq)'))
  t.equal((await observer.query(invalid)).rowCount, 1)
  await holder.query('commit')
  const store = await open(t, url)
  t.same(await store.all(invalid), [])
})

t.test('migrations add indexes to older tables apart from all else, so that they are built without a lock', async t => {
  const files = (await readdir(folder)).sort()
  const texts = await Promise.all(files.map(file => readFile(join(folder, file), 'utf8')))
  const tablesBefore = new Set<string>()
  for (const [index, file] of files.entries()) {
    const text = texts[index] ?? ''
    const old = [...text.matchAll(/create (?:unique )?index \w+ on (\w+)/g)].map(([, table = '']) => table)
    // Its index of an older table is of a column that it adds, so it is empty.
    const isEmpty = file === '009-alerts.sql'
    if (!isEmpty && old.some(table => tablesBefore.has(table))) t.ok(indexesOf(text).length > 0, file)
    for (const [, table = ''] of text.matchAll(/create table (\w+)/g)) tablesBefore.add(table)
  }
})
