import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import t from 'tap'

t.test('a server whose test process dies stops and removes its folder', async (t) => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'postgres-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit']
  })
  const [address] = await once(createInterface({ input: child.stdout }), 'line')
  const client = new pg.Client(address)
  const lost = once(client, 'error')
  await client.connect()
  const { rows: [{ data_directory: folder }] } = await client.query('show data_directory')
  t.ok(existsSync(folder))

  child.stdin.destroy()
  child.stdout.destroy()
  await once(child, 'exit')
  await lost
  await t.rejects(new pg.Client(address).connect(), { code: 'ECONNREFUSED' })
  t.notOk(existsSync(join(folder, '..')))
})
