import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A gateway with the processes that it consists of. */
export interface GatewayProcess {
  /** Ends in `/v1`. */
  url: string
  /** The first key; empty if the database had keys. */
  key: string
  pids: number[]
  stop (): Promise<void>
}

/** What the kernel counts CPU time in. */
const tickUs = 10_000

/** Starts a gateway in `folder` as `npm start` does. */
export async function startGatewayProcess (
  folder: string, env: Record<string, string>
): Promise<GatewayProcess> {
  const root = join(import.meta.dirname, '..')
  const child = spawn(process.execPath, ['--max-semi-space-size=16', join(root, 'bin/start.js')], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      MALLOC_ARENA_MAX: '2',
      PORT: '0',
      TOLLGATE_STARTING_CREDIT: '1000000',
      // A busy machine must not cause load shedding.
      TOLLGATE_MAX_LAG_MS: '60000',
      TOLLGATE_DISCOVER: 'off',
      ...env
    },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  process.once('exit', () => child.kill())
  let output = ''
  const read = (text: string) => { output += text }
  child.stdout.setEncoding('utf8').on('data', read)
  while (!/Tollgate serves [^]*\n\n/.test(output)) await once(child.stdout, 'data')
  // Drains the log, because an unread pipe makes the server buffer it.
  child.stdout.off('data', read).resume()
  const { pid = 0 } = child
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  return {
    url: /http:\S+\/v1/.exec(output)?.[0] ?? '',
    key: /sk-tg-[\w-]+/.exec(output)?.[0] ?? '',
    pids: [pid, ...children],
    async stop () {
      child.kill('SIGTERM')
      await once(child, 'exit')
    }
  }
}

/** CPU time that a process has used, user and system, in µs. */
export function cpuUs (pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ').map(Number)
  return ((fields[11] ?? 0) + (fields[12] ?? 0)) * tickUs
}
