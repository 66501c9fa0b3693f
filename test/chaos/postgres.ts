import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'

/**
 * A Postgres server that can be killed; disposing of it stops and removes it. Needs no test framework.
 */
export interface PostgresProcess extends AsyncDisposable {
  /** The address of an empty schema. */
  createSchema (): Promise<string>
  kill (): Promise<void>
  start (): Promise<void>
}

/**
 * Starts a server on a free port of this machine. Without `durable`, commits do not survive a power failure.
 */
export async function startPostgresProcess ({ durable = false } = {}): Promise<PostgresProcess> {
  const program = join(import.meta.dirname, '..', 'servers', 'postgres-server.ts')
  const child = spawn(process.execPath, [program, ...durable ? ['--durable'] : []], { stdio: ['pipe', 'pipe', 'inherit'], detached: true })
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const { value: address = '' } = await lines.next()
  let schemas = 0

  async function obey (command: string): Promise<void> {
    child.stdin.write(`${command}\n`)
    await lines.next()
  }

  return {
    async createSchema () {
      const name = `chaos_${++schemas}`
      const client = new pg.Client(address)
      await client.connect()
      await client.query(`create schema ${name}`)
      await client.end()
      return `${address}?options=-c%20search_path%3D${name}`
    },
    kill: () => obey('kill'),
    start: () => obey('start'),
    async [Symbol.asyncDispose] () {
      child.stdin.end()
      await exited
    }
  }
}
