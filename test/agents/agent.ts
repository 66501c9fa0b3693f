import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const installLimitMs = 180_000
const runLimitMs = 240_000

/** A proxy that refuses every connection: a program reaches nothing but this machine. */
export const loopbackOnly = { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: '127.0.0.1,localhost' }

/** Runs `work` in an empty folder that is deleted afterwards. */
export async function inFolder (name: string, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), `tollgate-agent-${name}-`))
  try {
    await work(folder)
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** Installs packages of npm into a folder; false, with a line that says so, if the registry lacks them. */
export async function installed (folder: string, ...packages: string[]): Promise<boolean> {
  const options = ['--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefix', folder]
  try {
    await promisify(execFile)('npm', ['install', ...options, ...packages], { timeout: installLimitMs })
    return true
  } catch (error) {
    const reason = String(Object(error).stderr || error).trim().split('\n').at(-1)
    process.stdout.write(`SKIPPED: ${packages.join(', ')} cannot be installed: ${reason}\n`)
    return false
  }
}

/** Runs a program to its end and resolves to its exit code and its output. */
export async function runProgram (
  command: string, args: readonly string[], { cwd, env }: { cwd: string, env: NodeJS.ProcessEnv }
): Promise<{ code: number | null, output: string }> {
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], timeout: runLimitMs })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => { output += piece })
  const { promise, resolve, reject } = Promise.withResolvers<number | null>()
  child.on('error', reject).on('close', resolve)
  return { code: await promise, output }
}
