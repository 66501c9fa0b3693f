import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { addressFile } from './address-file.ts'

// Runs a Postgres server until the process with the given id has ended, and passes its address on.

const runner = Number(process.argv[2])
const server = spawn(process.execPath, [join(import.meta.dirname, '..', 'servers', 'postgres-server.ts')], {
  stdio: ['pipe', 'pipe', 'ignore']
})
server.stdout.once('data', (address: Buffer) => process.stdout.write(address))
process.stdout.on('error', () => {})
const exited = once(server, 'exit')
while (isAlive(runner) && server.exitCode === null) await pause(500)
server.stdin.end()
await exited
await rm(addressFile(runner), { force: true })
process.exit()

function isAlive (pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
