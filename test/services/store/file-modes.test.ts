import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openSqlite } from '../../../services/store/sqlite.ts'
import { temporaryFolder } from '../../helpers/process.ts'

const skip = process.platform === 'win32' && 'Windows has no modes'
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)
const modesIn = (folder: string) =>
  Object.fromEntries(readdirSync(folder).sort().map(name => [name, modeOf(join(folder, name))]))

/** Opens a database under a umask, writes to it, and returns the modes beside it while it is open. */
async function modesOf (t: Test, folder: string, umask: number) {
  const before = process.umask(umask)
  t.teardown(() => process.umask(before))
  const store = await openSqlite(join(folder, 'tollgate.db'))
  await store.run("insert into secret (name, value, created_at) values ('a', 'b', 0) on conflict do nothing")
  const modes = modesIn(folder)
  await store.close()
  process.umask(before)
  return modes
}

for (const umask of [0o022, 0o002, 0o000, 0o077]) {
  t.test(`a new database is its owner's alone under umask ${umask.toString(8)}`, { skip }, async t => {
    const folder = join(await temporaryFolder(t), 'data')
    t.strictSame(await modesOf(t, folder, umask), {
      'tollgate.db': '600', 'tollgate.db-shm': '600', 'tollgate.db-wal': '600'
    })
    t.equal(modeOf(folder), '700')
  })
}

t.test('a database that everybody may read is closed to others, and its folder stays as it is', { skip }, async t => {
  const folder = await temporaryFolder(t)
  await modesOf(t, folder, 0o022)
  chmodSync(folder, 0o755)
  chmodSync(join(folder, 'tollgate.db'), 0o644)
  writeFileSync(join(folder, 'tollgate.db-journal'), '')
  chmodSync(join(folder, 'tollgate.db-journal'), 0o664)
  writeFileSync(join(folder, 'other.txt'), '')
  chmodSync(join(folder, 'other.txt'), 0o644)
  const modes = await modesOf(t, folder, 0o022)
  t.match(modes, { 'tollgate.db': '600', 'tollgate.db-shm': '600', 'tollgate.db-wal': '600', 'other.txt': '644' })
  t.notOk('tollgate.db-journal' in modes && modes['tollgate.db-journal'] !== '600')
  t.equal(modeOf(folder), '755')
})

t.test('files that a running process has open are closed to others too', { skip }, async t => {
  const folder = await temporaryFolder(t)
  const store = await openSqlite(join(folder, 'tollgate.db'))
  t.teardown(() => store.close())
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o644)
  t.strictSame(Object.values(await modesOf(t, folder, 0o022)), ['600', '600', '600'])
})

t.test('a database that only a group may read was shared on purpose', { skip }, async t => {
  const folder = await temporaryFolder(t)
  await modesOf(t, folder, 0o022)
  chmodSync(join(folder, 'tollgate.db'), 0o640)
  t.strictSame(Object.values(await modesOf(t, folder, 0o022)), ['640', '640', '640'])
})

t.test('a link to a new database makes a file for its owner alone', { skip }, async t => {
  const folder = await temporaryFolder(t)
  const target = join(await temporaryFolder(t), 'elsewhere.db')
  symlinkSync(target, join(folder, 'tollgate.db'))
  await modesOf(t, folder, 0o022)
  t.equal(modeOf(target), '600')
})
