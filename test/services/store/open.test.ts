import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t from 'tap'
import { openStore } from '../../../services/store/open.ts'
import { createDatabase } from '../../helpers/engines.ts'

t.test('a sqlite address opens the file it names', async (t) => {
  for (const prefix of ['sqlite:', 'sqlite://', 'SQLite:']) {
    const path = join(t.testdir(), 'data', 'tollgate.db')
    const store = await openStore(prefix + path)
    t.equal(store.engine, 'sqlite')
    await store.close()
    t.ok(existsSync(path), prefix)
  }
})

t.test('a database can be in memory', async (t) => {
  const store = await openStore('sqlite::memory:')
  t.teardown(() => store.close())
  t.same(await store.all('select id from account'), [])
})

t.test('a postgres address opens the database it names', async (t) => {
  const { url } = await createDatabase(t, 'postgres')
  for (const scheme of ['postgres', 'postgresql', 'Postgres']) {
    const store = await openStore(url.replace(/^postgres/, scheme))
    t.equal(store.engine, 'postgres')
    t.same(await store.get('select current_database() as name'), { name: new URL(url).pathname.slice(1) })
    await store.close()
  }
})

t.test('other addresses are refused without revealing passwords', async (t) => {
  for (const url of ['mysql://root:secret@db/x', 'secret', 'sqlite:', '']) {
    const error: unknown = await openStore(url).catch((error: unknown) => error)
    t.match(error, { message: /supported are sqlite:<path>/ })
    t.notMatch(inspect(error), /secret/)
  }
})

t.test('an invalid postgres address is refused without revealing its password', async (t) => {
  const wrong = {
    'postgres://user:secret@host:port/database': /of the form postgres:/,
    'postgres://user:secret@one,two/database?target_session_attrs=read-write': /several hosts; give one that/,
    'postgres://user:secret@127.0.0.1/database?sslrootcert=/nowhere/ca.pem': /names cannot be read: ENOENT.*ca\.pem/,
    'postgres://user:secret@127.0.0.1/database?pool=0': /`pool` must be a whole number from 1 to 1000/,
    'postgres://user:secret@127.0.0.1/database?pool=many': /`pool` must be/,
    'postgres://user:secret@127.0.0.1/database?connect_timeout=1.5': /`connect_timeout` must be/,
    'postgres://user:secret@127.0.0.1/database?statement_timeout=-1': /`statement_timeout` must be/
  }
  for (const [url, message] of Object.entries(wrong)) {
    const error: unknown = await openStore(url).catch((error: unknown) => error)
    t.match(error, { message })
    t.notMatch(inspect(error), /secret/)
  }
})
