import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { addressFile } from './address-file.ts'

// Runs before all test files: starts the Postgres server that they share, and leaves it running.

const runner = process.ppid
const keeper = spawn(process.execPath, [join(import.meta.dirname, 'keep-postgres.ts'), String(runner)], {
  stdio: ['ignore', 'pipe', 'ignore'], detached: true
})
const [address] = await once(createInterface({ input: keeper.stdout }), 'line')
await writeFile(addressFile(runner), String(address), { mode: 0o600 })
keeper.stdout.destroy()
keeper.unref()
