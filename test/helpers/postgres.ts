import { spawn } from 'node:child_process'
import type { ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import pg from 'pg'
import t from 'tap'
import { addressFile } from '../setup/address-file.ts'

interface Teardown { teardown (work: () => unknown): void }

/** A Postgres server on a free port of this machine; it needs only npm's packages. */
export interface PostgresServer {
  /** For `postgres`, the superuser. */
  address: string
  /**
   * The address of an empty schema, which serves like a database of its own and takes a millisecond instead
   * of a hundred.
   */
  createSchema (): Promise<string>
  /** Kills the server, as a crash would. */
  kill (): Promise<void>
  /** Starts it after `kill`, at the same address with the same databases. */
  start (): Promise<void>
}

/**
 * Starts a server in less than a second. It is stopped and removed when the test or the process ends.
 */
export async function startPostgres (t: Teardown): Promise<PostgresServer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', 'servers', 'postgres-server.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    // A signal to the process group of the tests must not prevent the server's cleanup.
    detached: true
  })
  t.teardown(() => end(child))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const address = await next(lines)

  async function obey (command: string): Promise<void> {
    child.stdin.write(`${command}\n`)
    await next(lines)
  }

  return {
    address,
    createSchema: () => createSchema(address),
    kill: () => obey('kill'),
    start: () => obey('start')
  }
}

type SharedPostgres = Pick<PostgresServer, 'address' | 'createSchema'>

let shared: Promise<SharedPostgres> | undefined

/**
 * The server that all tests share: started before them or, for a single file, on first use.
 */
export async function sharedPostgres (): Promise<SharedPostgres> {
  shared ??= findOrStart()
  return await shared
}

async function findOrStart (): Promise<SharedPostgres> {
  const file = addressFile(process.ppid)
  if (!existsSync(file)) return await startPostgres(t)
  const address = readFileSync(file, 'utf8')
  return { address, createSchema: () => createSchema(address) }
}

let schemas = 0

async function createSchema (address: string): Promise<string> {
  const name = `test_${process.pid}_${++schemas}`
  const client = new pg.Client(address)
  await client.connect()
  await client.query(`create schema ${name}`)
  await client.end()
  return `${address}?options=-c%20search_path%3D${name}`
}

async function next (lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next()
  if (done === true) throw new Error('The Postgres server has ended, see standard error')
  return value
}

async function end (child: ChildProcessByStdio<Writable, Readable, null>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.stdin.end()
  await exited
}
