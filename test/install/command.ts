import { spawn } from 'node:child_process'
import { outcomeOf, type Outcome } from '../helpers/process.ts'

export interface Bounds {
  cwd: string
  env: NodeJS.ProcessEnv
  /** After this time the command and its children are killed. */
  limitS: number
}

/** Starts a shell command in a process group of its own; `stop` sends SIGTERM to the command alone. */
export function startBounded (
  command: string, { cwd, env, limitS }: Bounds
): Outcome & { stop (): void } {
  const child = spawn('sh', ['-c', command], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  const { pid } = child
  const killer = setTimeout(() => {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  }, limitS * 1000)
  const outcome = outcomeOf(child)
  child.on('close', () => clearTimeout(killer))
  return { ...outcome, stop: () => child.kill('SIGTERM') }
}

/** Runs a shell command and resolves with its output; throws an Error with it unless the exit code is 0. */
export async function runBounded (command: string, bounds: Bounds): Promise<string> {
  const { exited, output } = startBounded(command, bounds)
  const code = await exited
  const how = code === null ? `killed, after ${bounds.limitS} s at most` : `exit code ${code}`
  if (code !== 0) throw new Error(`${command}: ${how}\n${output()}`)
  return output()
}
