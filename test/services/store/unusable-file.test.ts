import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { openSqlite } from '../../../services/store/sqlite.ts'
import { spawnGateway, temporaryFolder, withoutHooks } from '../../helpers/process.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const run = promisify(execFile)
const nobody = 65_534
const program = `
  const { openSqlite } = await import(${JSON.stringify(join(root, 'services/store/sqlite.ts'))})
  const { name, problem, message } = await openSqlite(process.argv[1]).catch(error => error)
  console.log(JSON.stringify({ name, problem, message }))`

/** Opens a database in a process without the rights of root, and returns what it throws. */
async function errorOf (path: string): Promise<unknown> {
  const user = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {}
  const [command, args] = withoutHooks(process.execPath, '--input-type=module', '--eval', program, path)
  const { stdout } = await run(command, args, { ...user, cwd: '/' })
  return JSON.parse(stdout)
}

async function database (folder: string): Promise<string> {
  const path = join(folder, 'books.db')
  await (await openSqlite(path)).close()
  return path
}

const files: Record<string, { make (folder: string): Promise<string>, problem: string, message: RegExp }> = {
  garbage: {
    async make (folder) {
      const path = join(folder, 'books.db')
      writeFileSync(path, 'These are no tables. '.repeat(1_000))
      return path
    },
    problem: 'damaged',
    message: /file is not a database/
  },
  'a truncated database': {
    async make (folder) {
      const path = await database(folder)
      truncateSync(path, 20_000)
      chmodSync(path, 0o666)
      return path
    },
    problem: 'damaged',
    message: /malformed/
  },
  'a folder': {
    make: async folder => folder,
    problem: 'unusable',
    message: /unable to open database file \(it is a folder\)/
  },
  'a folder below a file': {
    async make (folder) {
      writeFileSync(join(folder, 'file'), '')
      return join(folder, 'file', 'books.db')
    },
    problem: 'unusable',
    message: /EEXIST|ENOTDIR/
  },
  'a file without the right to read': {
    async make (folder) {
      const path = await database(folder)
      chmodSync(path, 0o000)
      return path
    },
    problem: 'unusable',
    message: /EACCES: permission denied/
  },
  'a file without the right to write': {
    async make (folder) {
      const path = await database(folder)
      chmodSync(path, 0o444)
      return path
    },
    problem: 'readOnly',
    message: /attempt to write a readonly database \(EACCES: permission denied/
  },
  'a folder without the right to write': {
    async make (folder) {
      chmodSync(folder, 0o555)
      return join(folder, 'new.db')
    },
    problem: 'unusable',
    message: /EACCES: permission denied/
  }
}

for (const [name, { make, problem, message }] of Object.entries(files)) {
  t.test(`${name} is refused with its path and the reason`, async t => {
    const folder = await temporaryFolder(t)
    chmodSync(folder, 0o777)
    const path = await make(folder)
    t.teardown(() => chmodSync(folder, 0o755))
    const error = await errorOf(path)
    t.match(error, { name: 'StoreUnavailable', problem, message })
    t.match(error, { message: `The database file ${path} cannot be used: ` })
  })
}

/** A small file system; null where this user may not make one. */
async function smallDisk (t: Test): Promise<string | null> {
  const folder = await temporaryFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
  } catch {
    return null
  }
  t.teardown(() => execFileSync('umount', [folder]))
  return folder
}

t.test('a full disk and a read-only one are named', async t => {
  const folder = await smallDisk(t)
  if (folder === null) return t.pass('skipped: only root can mount one')
  copyFileSync(await database(await temporaryFolder(t)), join(folder, 'books.db'))
  writeFileSync(join(folder, 'filler'), '')
  execFileSync('sh', ['-c', `dd if=/dev/zero of=${folder}/filler bs=1k count=2000 2>/dev/null || true`])
  for (const file of ['new.db', 'books.db']) {
    await t.rejects(openSqlite(join(folder, file)), { name: 'StoreUnavailable', message: /full/ }, file)
  }
  execFileSync('mount', ['-o', 'remount,ro', folder])
  await t.rejects(openSqlite(join(folder, 'books.db')), { problem: 'readOnly', message: /read-only file system/ })
  await t.rejects(openSqlite(join(folder, 'other.db')), { name: 'StoreUnavailable', message: /read-only file system/ })
})

t.test('the gateway prints one line and exits with 1', async t => {
  const folder = await temporaryFolder(t)
  mkdirSync(join(folder, 'books.db'))
  const gateway = await spawnGateway(t, { DATABASE_URL: `sqlite:${join(folder, 'books.db')}` })
  t.equal(await gateway.exited, 1)
  t.match(gateway.output(), /^Tollgate cannot start: The database file \S+books\.db cannot be used: [^\n]*folder\)\n$/)
})
