import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import t from 'tap'
import type { Test } from 'tap'
import { createHeartbeatLiveness, createLockFileLiveness } from '../../../../../services/billing/ledger/cluster/node-liveness.ts'
import { retry } from '../../../../../services/shared/timers.ts'
import { openSqlite } from '../../../../../services/store/sqlite.ts'
import { temporaryFolder, withoutHooks } from '../../../../helpers/process.ts'
import { assertBooks, createBooks, posting, reservation, rowOf, startLedger } from '../helper.ts'

const holder = join(import.meta.dirname, '..', 'holder.ts')

/** A process that holds 600 of the account `acme` until it is killed. */
async function startHolder (t: Test, path: string, node: string) {
  const child = spawn(...withoutHooks(process.execPath, holder, path, node), { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  await once(createInterface({ input: child.stdout }), 'line')
  return {
    async kill () {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
  }
}

async function createFile (t: Test): Promise<string> {
  const path = join(await temporaryFolder(t), 'tollgate.db')
  const store = await openSqlite(path)
  await createBooks(store, { acme: 1_000 })
  await store.close()
  return path
}

for (const node of ['first', 'second']) {
  t.test(`after kill -9 the money is available at once to a process with the id ${node}`, async (t) => {
    const path = await createFile(t)
    const dead = await startHolder(t, path, 'first')
    await dead.kill()

    const store = await openSqlite(path)
    t.teardown(() => store.close())
    t.match(await rowOf(store), { held: 600 + 50 })
    const { ledger } = startLedger(t, store, { nodeId: node })
    const hold = await ledger.reserve(reservation(1_000))
    await hold.settle(posting(1_000))
    t.match(await rowOf(store), { spent: 1_000, held: 0 })
    await ledger.close()
    t.same((await readdir(dirname(path))).filter((name) => name.includes('-node-')), [], 'no file is left behind')
    await assertBooks(t, store)
  })
}

t.test('what a live process on the same file holds stays held', async (t) => {
  const path = await createFile(t)
  const alive = await startHolder(t, path, 'first')
  const store = await openSqlite(path)
  t.teardown(() => store.close())
  const { ledger } = startLedger(t, store, { options: { heartbeatMs: 20, heldWaitMs: 100 } })
  await t.rejects(async () => await ledger.reserve(reservation(351)), { code: 'insufficient_funds_held' })
  const hold = await ledger.reserve(reservation(350))
  await alive.kill()
  // This node looks for dead ones with each heartbeat.
  const rest = await retry(async () => await ledger.reserve(reservation(600)), () => 5)
  await Promise.all([hold.release(), rest.release()])
})

t.test('two processes cannot have the same node id on one file', async (t) => {
  const path = await createFile(t)
  await startHolder(t, path, 'first')
  await t.rejects(createLockFileLiveness(path).enter('first'), { message: /Another process is the node first/ })
})

t.test('a node that a copied database mentions is dead', async (t) => {
  const liveness = createLockFileLiveness(await createFile(t))
  t.equal(liveness.isDead({ id: 'elsewhere', epoch: 1, heartbeatAt: 0, silentMs: 0, requestMs: 0 }), true)
})

t.test('without lock files a node is dead once its heartbeat has stood still long enough', async (t) => {
  const lease = { leaseMs: 100, marginMs: 10 }
  const time = { now: 0 }
  const liveness = createHeartbeatLiveness(lease, () => time.now)
  const node = { id: 'n', epoch: 1, heartbeatAt: 0, silentMs: 0, requestMs: 1_000 }
  t.equal(liveness.isDead(node), false)
  time.now = 1_109
  t.equal(liveness.isDead({ ...node, silentMs: 1_109 }), false)
  time.now = 1_110
  t.equal(liveness.isDead({ ...node, heartbeatAt: 1_000 }), false, 'it has just given one')
  time.now = 2_219
  t.equal(liveness.isDead({ ...node, heartbeatAt: 1_000, silentMs: 1_219 }), true)

  const late = createHeartbeatLiveness(lease, () => time.now)
  const silent = { ...node, silentMs: 5_000 }
  time.now = 5_000
  t.equal(late.isDead(silent), false, 'it has not been watched long enough')
  time.now = 5_109
  t.equal(late.isDead(silent), false)
  time.now = 5_110
  t.equal(late.isDead({ ...silent, silentMs: 1_109 }), false)
  t.equal(late.isDead({ ...silent, requestMs: 4_891 }), false, 'its requests may run longer')
  t.equal(late.isDead(silent), true, 'long dead by the clock, and silent for a lease')

  const behind = createHeartbeatLiveness(lease, () => time.now)
  const ahead = { ...node, silentMs: -10_000 }
  t.equal(behind.isDead(ahead), false)
  time.now = 6_220
  t.equal(behind.isDead(ahead), true, 'a clock that was set back does not keep money for ever')
})

t.test('the lock file of a node belongs to its owner alone', {
  skip: process.platform === 'win32' && 'Windows has no modes'
}, async t => {
  const path = await createFile(t)
  const before = process.umask(0o022)
  t.teardown(() => process.umask(before))
  const liveness = createLockFileLiveness(path)
  await liveness.enter('first')
  t.teardown(() => liveness.leave())
  const files = (await readdir(dirname(path))).filter(name => name.includes('-node-'))
  t.ok(files.length > 0)
  for (const name of files) t.equal((await stat(join(dirname(path), name))).mode & 0o777, 0o600, name)
})
