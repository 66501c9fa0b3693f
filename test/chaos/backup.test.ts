import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import t from 'tap'
import type { Test } from 'tap'
import { freePort } from '../helpers/free-port.ts'
import { addressOf, spawnGateway, temporaryFolder } from '../helpers/process.ts'
import { checkLedger } from './ledger-check.ts'

// The commands of docs/books.md, while a gateway serves requests.

const run = promisify(execFile)

/** Sends requests one after another until it is stopped; resolves to how many were answered. */
function traffic (url: string, key: string) {
  const state = { answered: 0, isOver: false }
  const done = (async () => {
    while (!state.isOver) {
      const answer = await fetch(`${url}/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello' }] })
      })
      await answer.text()
      if (answer.status === 200) state.answered++
    }
  })()
  return {
    async until (count: number) {
      while (state.answered < count) await new Promise(resolve => setTimeout(resolve, 5))
    },
    stop: async () => { state.isOver = true; await done }
  }
}

/** Backs a database up under load, and has a new gateway run on what was restored. */
async function backUpAndRestore (
  t: Test, databaseUrl: string, copy: () => Promise<string>
): Promise<void> {
  const before = await spawnGateway(t, { DATABASE_URL: databaseUrl })
  const { url, key } = await addressOf(before)
  const requests = traffic(url, key)
  await requests.until(20)
  const restored = await copy()
  await requests.until(40)
  await requests.stop()
  before.child.kill('SIGKILL')
  await before.exited

  t.match(await checkLedger(t, restored), { code: 0 }, 'the books of the backup add up')
  const after = await spawnGateway(t, { DATABASE_URL: restored })
  const { url: newUrl } = await addressOf(after)
  const more = traffic(newUrl, key)
  await more.until(3)
  await more.stop()
  after.child.kill('SIGTERM')
  t.equal(await after.exited, 0)
  t.match(await checkLedger(t, restored), { code: 0 }, 'and go on from there')
}

t.test('a backup of SQLite that was made under load is restored', async t => {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'tollgate.db')
  await backUpAndRestore(t, `sqlite:${path}`, async () => {
    const backup = join(folder, 'backup.db')
    const database = new DatabaseSync(path)
    database.exec(`vacuum into '${backup}'`)
    database.close()
    return `sqlite:${backup}`
  })
})

/** The newest server with its tools: pg_dump may not be older than its server, and other tests' has none. */
const tools = globSync('/usr/lib/postgresql/*/bin/pg_restore').sort().at(-1)?.replace(/\/pg_restore$/, '')
const skip = tools === undefined ? 'There is no pg_dump with its server on this machine' : false

t.test('a backup of Postgres that was made under load is restored', { skip }, async t => {
  const folder = await temporaryFolder(t)
  const port = String(await freePort())
  const identity = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  if (process.getuid?.() === 0) await chown(folder, 65_534, 65_534)
  const call = async (name: string, ...args: string[]) =>
    await run(join(tools ?? '', name), args, { ...identity, cwd: folder, env: { LC_ALL: 'C' } })
  const data = join(folder, 'data')
  await call('initdb', '--pgdata', data, '--username', 'postgres', '--auth', 'trust', '--encoding', 'UTF8')
  const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
  await call('pg_ctl', '--pgdata', data, '--log', join(folder, 'log'), '--options', options, '--wait', 'start')
  t.teardown(() => call('pg_ctl', '--pgdata', data, '--mode', 'immediate', 'stop'))
  const address = (name: string) => `postgres://postgres@127.0.0.1:${port}/${name}`
  for (const name of ['gate', 'restored']) await call('createdb', '--maintenance-db', address('postgres'), name)
  await backUpAndRestore(t, address('gate'), async () => {
    await call('pg_dump', '--format', 'custom', '--file', join(folder, 'backup'), address('gate'))
    await call('pg_restore', '--exit-on-error', '--no-owner', '--dbname', address('restored'), join(folder, 'backup'))
    return address('restored')
  })
})
