import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openStore } from '../../../services/store/open.ts'

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

t.test('other addresses are refused without telling their passwords', async (t) => {
  for (const url of ['mysql://root:secret@db/x', 'secret', 'sqlite:', '']) {
    const error = await openStore(url).then(() => t.fail(url), (error: Error) => error)
    t.match(error, { message: /supported is sqlite:<path>/ })
    t.notMatch(error, { message: /secret/ })
  }
})
