import pg from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { openPostgres } from '../../../services/store/postgres.ts'
import type { Store } from '../../../services/store/store.ts'
import { createDatabase } from '../../helpers/engines.ts'
import { lacksPgBouncer, startPgBouncer } from '../../servers/pgbouncer.ts'
import { assertBooks, createBooks, rowOf, spend, startLedger } from '../billing/ledger/helper.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }
const skip = lacksPgBouncer()

async function openAt (t: Test, url: string): Promise<Store> {
  const store = await openPostgres(url, { log, startTimeoutMs: 0 })
  t.teardown(() => store.close())
  return store
}

for (const mode of ['session', 'transaction'] as const) {
  t.test(`in ${mode} mode of PgBouncer, two nodes serve as without it`, { skip }, async t => {
    const { url } = await createDatabase(t, 'postgres')
    const direct = await openAt(t, url)
    await createBooks(direct, { acme: 1_000_000_000 })
    const pooled = await startPgBouncer(t, url, mode)
    const nodes = await Promise.all(['a', 'b'].map(async nodeId =>
      startLedger(t, await openAt(t, pooled), { nodeId })))
    const requests = nodes.flatMap(({ ledger }) => Array.from({ length: 200 }, () => spend(ledger, 100, 60)))
    await Promise.all(requests)
    t.match(await rowOf(direct), { spent: 400 * 60 })
    t.match(await direct.get("select count(*) as count from entry where kind = 'usage'"), { count: 400 })
    t.same(nodes.flatMap(({ log }) => log.lines), [])
    await Promise.all(nodes.map(({ ledger }) => ledger.close()))
    await assertBooks(t, direct)
  })

  t.test(`in ${mode} mode of PgBouncer, statements have limits, and leave none to others`, { skip }, async t => {
    const { url } = await createDatabase(t, 'postgres')
    const direct = await openAt(t, url)
    await direct.run('create table note (id bigint primary key, text text)')
    await direct.run("insert into note (id, text) values (1, '')")
    const pooled = await startPgBouncer(t, url, mode)
    const store = await openAt(t, `${pooled}?statement_timeout=1000`)
    const update = "update note set text = 'x' where id = 1"
    const other = new pg.Client(url)
    await other.connect()
    t.teardown(() => other.end())
    await other.query('begin')
    await other.query(update)
    await Promise.all([
      t.rejects(store.run(update), { name: 'StoreUnavailable', problem: 'locked' }),
      t.rejects(store.transaction(queries => queries.run(update)), { name: 'StoreUnavailable', problem: 'locked' })
    ])
    await other.query('commit')
    await t.rejects(store.get('select pg_sleep(60)'), { name: 'StoreUnavailable', problem: 'slow' })
    t.equal(await store.run(update), 1)
    const client = new pg.Client(pooled)
    await client.connect()
    t.teardown(() => client.end())
    for (let sessions = 0; sessions < 6; sessions++) {
      t.match((await client.query('show lock_timeout')).rows, [{ lock_timeout: '0' }])
    }
  })
}

t.test('a parameter that PgBouncer does not pass on is refused at once, with its name', { skip }, async t => {
  const { url } = await createDatabase(t, 'postgres')
  const pooled = await startPgBouncer(t, url, 'transaction')
  await t.rejects(openPostgres(`${pooled}?options=-c%20search_path%3Dapp`, { log }), {
    message: /^Postgres at 127\.0\.0\.1:\d+ refuses: unsupported startup parameter: options$/
  })
})
