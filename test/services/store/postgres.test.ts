import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { inspect } from 'node:util'
import pg from 'pg'
import t from 'tap'
import type { Test } from 'tap'
import { openPostgres } from '../../../services/store/postgres.ts'
import { StoreUnavailable } from '../../../services/store/store.ts'
import type { Store } from '../../../services/store/store.ts'
import { createDatabase } from '../../helpers/engines.ts'

const log = { info: () => {}, warn: () => {}, error: () => {} }

async function openAt (t: Test, url: string): Promise<Store> {
  const store = await openPostgres(url, { log, startTimeoutMs: 0 })
  t.teardown(() => store.close())
  return store
}

/** A store with a table of its own. `query` goes to the end of the address. */
async function open (t: Test, query = ''): Promise<{ store: Store, url: string }> {
  const { url } = await createDatabase(t, 'postgres')
  const store = await openAt(t, `${url}${query}`)
  await store.run('create table note (id bigint primary key, text text)')
  await store.run("insert into note (id, text) values (1, ''), (2, '')")
  return { store, url }
}

/** Resolves for everybody once `count` have called it. */
function createMeeting (count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let missing = count
  return () => {
    if (--missing === 0) resolve()
    return promise
  }
}

t.test('after a deadlock both transactions succeed', async (t) => {
  const { store } = await open(t, '%20-c%20deadlock_timeout%3D10ms')
  const bothHoldOne = createMeeting(2)
  let runs = 0
  await Promise.all([[1, 2], [2, 1]].map(([first, second]) => store.transaction(async (queries) => {
    runs++
    await queries.run("update note set text = text || 'x' where id = $1", [first ?? 0])
    await bothHoldOne()
    await queries.run("update note set text = text || 'x' where id = $1", [second ?? 0])
  })))
  t.equal(runs, 3)
  t.same(await store.all('select text from note'), [{ text: 'xx' }, { text: 'xx' }])
})

t.test('a statement waits a few seconds for a lock, and keeps its connection', async (t) => {
  const { store, url } = await open(t, '&application_name=waiting')
  const other = new pg.Client(url)
  await other.connect()
  t.teardown(() => other.end())
  await store.get('select 1 as one')
  await other.query('begin')
  await other.query('select * from note where id = 1 for update')
  const change = () => store.run("update note set text = 'x' where id = 1")
  const sessions = async () =>
    (await other.query("select pid from pg_stat_activity where application_name = 'waiting'")).rows
  const before = await sessions()
  await t.rejects(change(), { name: 'StoreUnavailable', problem: 'locked' })
  t.same(await sessions(), before)
  const changed = change()
  setTimeout(() => other.query('commit'), 300)
  t.equal(await changed, 1)
})

t.test('a transaction that lost a conflict is retried, whatever it threw', async (t) => {
  const { store } = await open(t, '%20-c%20default_transaction_isolation%3Dserializable')
  const bothHaveRead = createMeeting(2)
  let runs = 0
  await Promise.all([1, 2].map(() => store.transaction(async (queries) => {
    runs++
    const note = await queries.get<{ text: string }>('select text from note where id = 1')
    await bothHaveRead()
    try {
      await queries.run('update note set text = $1 where id = 1', [`${note?.text}x`])
    } catch (cause) {
      throw new Error('cannot write', { cause })
    }
  })))
  t.equal(runs, 3)
  t.same(await store.get('select text from note where id = 1'), { text: 'xx' })
})

t.test('a transaction that always loses its conflicts is given up', async (t) => {
  const { store } = await open(t)
  let runs = 0
  await t.rejects(store.transaction(async (queries) => {
    runs++
    await queries.run(raise('40001'))
  }), StoreUnavailable)
  t.equal(runs, 10)
})

t.test('only errors of the values are not StoreUnavailable', async (t) => {
  const { store } = await open(t, '&pool=1')
  for (const state of ['53100', '53300', '57014', '57P03', '58030', '25006', '08006', 'XX001', '42501', '42P01', '42601', 'XX000', '0A000', '99999']) {
    await t.rejects(store.run(raise(state)), StoreUnavailable, state)
    await t.rejects(store.transaction((queries) => queries.run(raise(state))), StoreUnavailable, state)
  }
  for (const state of ['23514', '22003', '54000', 'P0001']) {
    await t.rejects(store.run(raise(state)), { name: 'error', code: state }, state)
    await t.rejects(store.transaction((queries) => queries.run(raise(state))), { name: 'error', code: state }, state)
  }
  t.same(await store.get('select count(*) as count from note'), { count: 2 })
})

t.test('a statement error keeps its connection', async (t) => {
  const { store } = await open(t, '&pool=1')
  const connection = () => store.get('select pg_backend_pid() as pid')
  const before = await connection()
  await t.rejects(store.run('insert into note (id) values (1)'), { code: '23505' })
  await t.rejects(store.transaction((queries) => queries.run('insert into note (id) values (1)')), { code: '23505' })
  await t.rejects(store.get('select 9007199254740993 as value'), RangeError)
  t.same(await connection(), before)
})

t.test('prepared statements survive a migration of their result columns', async (t) => {
  const { store, url } = await open(t, '&pool=2')
  const migrating = await openAt(t, url)
  const sql = 'select * from note where id = 1'
  await Promise.all([store.get(sql), store.get(sql)])
  await migrating.run('alter table note add column title text')
  const changed = { id: 1, text: '', title: null }
  t.same(await Promise.all([store.get(sql), store.get(sql)]), [changed, changed])

  await migrating.run('alter table note drop column title')
  const found = await store.transaction(async (queries) => {
    await queries.run("update note set text = text || 'x' where id = 1")
    return await queries.get(sql)
  })
  t.same(found, { id: 1, text: 'x' })
})

t.test('prepared statements survive being dropped by the server', async (t) => {
  const { store } = await open(t, '&pool=1')
  const sql = 'select text from note where id = $1'
  await store.get(sql, [1])
  await store.run('deallocate all')
  t.same(await store.get(sql, [1]), { text: '' })
  await store.run('deallocate all')
  t.same(await store.transaction((queries) => queries.get(sql, [1])), { text: '' })
})

t.test('statements beyond the limit of prepared ones still work', async (t) => {
  const { store } = await open(t, '&pool=1')
  for (let n = 0; n < 600; n++) t.same(await store.get(`select ${n} as n`), { n })
  const prepared = await store.get<{ count: number }>('select count(*) as count from pg_prepared_statements')
  t.ok(prepared !== undefined && prepared.count > 400 && prepared.count <= 500)
})

t.test('the address limits the number of connections', async (t) => {
  const { store } = await open(t, '&pool=3')
  const pids = await Promise.all(Array.from({ length: 12 }, () =>
    store.get<{ pid: number }>('select pg_backend_pid() as pid, pg_sleep(0.01)')))
  t.equal(new Set(pids.map((row) => row?.pid)).size, 3)
})

t.test('a statement that times out is StoreUnavailable', async (t) => {
  // Long enough for the statements that make the table, on a busy machine.
  const { store } = await open(t, '&statement_timeout=500')
  await t.rejects(store.get('select pg_sleep(60)'), { name: 'StoreUnavailable', cause: { code: '57014' } })
  t.same(await store.get('select 1 as one'), { one: 1 })
})

t.test('waiting for a connection times out, also within a transaction', async (t) => {
  const { store } = await open(t, '&pool=1&connect_timeout=1')
  await t.rejects(store.transaction(() => store.run('delete from note')), StoreUnavailable)
  t.same(await store.get('select count(*) as count from note'), { count: 2 })
})

t.test('the queue for connections is bounded', async (t) => {
  const { store } = await open(t, '&pool=1&connect_timeout=60')
  const goOn = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const holder = store.transaction(() => {
    begun.resolve()
    return goOn.promise
  })
  await begun.promise
  const waiting = Array.from({ length: 10_000 }, () => store.get('select 1 as one'))
  await t.rejects(store.get('select 1 as one'), { cause: { message: /10000 statements are waiting/ } })
  goOn.resolve()
  await holder
  t.equal((await Promise.all(waiting)).length, 10_000)
})

t.test('start-up does not wait for a server that refuses, and reports why without the password', async (t) => {
  const { url } = await createDatabase(t, 'postgres')
  const { password, pathname } = new URL(url)
  const refused = {
    [url.replace(password, 'wrong')]: /^Postgres at 127\.0\.0\.1:\d+ refuses: password authentication failed/,
    [url.replace(`${pathname}?`, '/nowhere?')]: /refuses: database "nowhere" does not exist/,
    [`${url}&sslmode=require`]: /refuses: The server does not support SSL connections/
  }
  for (const [address, message] of Object.entries(refused)) {
    const error: unknown = await openPostgres(address, { log }).catch((error: unknown) => error)
    t.match(error, { message })
    t.notMatch(inspect(error), password)
  }
})

t.test('a server that accepts connections but does not answer is unavailable', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => silent.close())
  const { port } = silent.address() as AddressInfo
  await t.rejects(openAt(t, `postgres://user@127.0.0.1:${port}/database?connect_timeout=1`), {
    name: 'StoreUnavailable', message: new RegExp(`^Postgres at 127.0.0.1:${port} cannot be reached: .*time`)
  })
})

t.test('a server that stops answering during a statement is unavailable', async (t) => {
  const { url } = await createDatabase(t, 'postgres')
  const relay = await startRelay(t, Number(new URL(url).port))
  const address = new URL(url)
  address.port = String(relay.port)
  const store = await openAt(t, `${address.href}&pool=1&statement_timeout=100`)
  await store.get('select 1 as one')
  relay.mute(true)
  await t.rejects(store.get('select 1 as one'), { name: 'StoreUnavailable', cause: { message: /timeout/ } })
  relay.mute(false)
  t.same(await store.get('select 1 as one'), { one: 1 })
})

function raise (state: string): string {
  return `do $$ begin raise exception 'made up' using errcode = '${state}'; end $$`
}

/** Passes bytes on to a port of this machine, or loses them when it is mute. */
async function startRelay (t: Test, target: number): Promise<{ port: number, mute (on: boolean): void }> {
  const sockets = new Set<Socket>()
  let muted = false
  const relay = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    for (const [from, to] of [[client, server], [server, client]] as const) {
      sockets.add(from)
      from.on('data', (bytes) => { if (!muted) to.write(bytes) })
      from.on('close', () => to.destroy())
    }
  })
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  const { port } = relay.address() as AddressInfo
  return { port, mute: (on) => { muted = on } }
}
