import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../helpers/free-port.ts'
import { temporaryFolder } from '../helpers/process.ts'

interface Teardown { teardown (work: () => unknown): void }

const isRoot = process.getuid?.() === 0

/** Why PgBouncer cannot be started here; false if it can. */
export function lacksPgBouncer (): string | false {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'PgBouncer is not installed'
  }
}

/**
 * Starts PgBouncer with its default settings before a Postgres server, and returns the address of the same
 * database behind it. It has six sessions for all connections in `transaction` mode.
 */
export async function startPgBouncer (
  t: Teardown, address: string, mode: 'session' | 'transaction'
): Promise<string> {
  const [folder, port] = [await temporaryFolder(t), await freePort()]
  const { hostname, port: serverPort, username, password, pathname } = new URL(address)
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, `
    [databases]
    * = host=${hostname} port=${serverPort} user=${username} password=${password}
    [pgbouncer]
    listen_addr = 127.0.0.1
    listen_port = ${port}
    unix_socket_dir =
    auth_type = any
    pool_mode = ${mode}
    default_pool_size = ${mode === 'session' ? 60 : 6}`)
  // It refuses to run as root.
  await chmod(folder, 0o755)
  const child = spawn('pgbouncer', [...isRoot ? ['-u', 'nobody'] : [], '-q', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  while (!await accepts(port)) await sleep(20)
  return `postgres://${username}@127.0.0.1:${port}${pathname}`
}

async function accepts (port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
