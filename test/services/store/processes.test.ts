import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import t from 'tap'
import type { Test } from 'tap'
import { createAccounts } from '../../../services/billing/ledger/accounts.ts'
import type { Store } from '../../../services/store/store.ts'
import { forEachEngine } from '../../helpers/engines.ts'
import { withoutHooks } from '../../helpers/process.ts'

type Child = ChildProcessByStdio<null, Readable, null>

forEachEngine(t, 'after kill -9 the database has everything that was acknowledged', async (t, database) => {
  const child = startDepositor(t, database.url, 'killed', 1_000_000)
  const exited = once(child, 'exit')
  const acknowledged = await linesUntil(child, 200)
  child.kill('SIGKILL')
  t.same(await exited, [null, 'SIGKILL'])

  const store = await database.open()
  if (store.engine === 'sqlite') t.same(await store.get('pragma integrity_check'), { integrity_check: 'ok' })
  const booked = await bookedIds(store)
  for (const id of acknowledged) t.ok(booked.has(id), id)
  const { creditsNano } = await createAccounts(store).balance('shared')
  t.equal(creditsNano, booked.size, 'an entry and its credit are there together or not at all')
  t.equal(await store.run("update account set name = 'still writable' where id = 'shared'"), 1)
})

forEachEngine(t, 'concurrent writes of two processes lose nothing', async (t, database) => {
  const count = 200
  const children = ['left', 'right'].map((name) => startDepositor(t, database.url, name, count))
  const exits = await Promise.all(children.map(async (child) => {
    child.stdout.resume()
    return await once(child, 'exit')
  }))
  t.same(exits, [[0, null], [0, null]])
  const store = await database.open()
  t.equal((await bookedIds(store)).size, 2 * count)
  t.match(await createAccounts(store).balance('shared'), { creditsNano: 2 * count })
})

function startDepositor (t: Test, url: string, name: string, count: number): Child {
  const script = join(import.meta.dirname, 'depositor.ts')
  const child = spawn(...withoutHooks(process.execPath, script, url, name, String(count)), { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

async function linesUntil (child: Child, count: number): Promise<string[]> {
  const lines: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (lines.push(line) === count) break
  }
  return lines
}

async function bookedIds (store: Store): Promise<Set<string>> {
  return new Set((await store.all<{ id: string }>('select idempotency_key as id from entry')).map(({ id }) => id))
}
