import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** The environment of a gateway on a free port; a busy machine does not make it shed load. */
export const usual = { PORT: '0', TOLLGATE_DISCOVER: 'off', TOLLGATE_MAX_LAG_MS: '60000' }

interface Teardown { teardown (work: () => unknown): void }

/** The output of a process and its exit. */
export interface Outcome {
  /** Everything written to standard output and standard error so far. */
  output (): string
  /** Resolves with the first match in the output, now or later; rejects if the process ends without one. */
  printed (pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves with the exit code; null if a signal ended the process. */
  exited: Promise<number | null>
}

/** A gateway in its own process, as a user starts it. */
export interface GatewayProcess extends Outcome {
  child: ChildProcess
  /** Its working directory, empty at the start and removed at the end. */
  folder: string
}

/** A folder that is removed when the test ends. */
export async function temporaryFolder (t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * A command as a user runs it, without the hooks that tap loads into every child process by an environment
 * variable, which takes a fraction of a second each.
 */
export function withoutHooks (command: string, ...args: string[]): [string, string[]] {
  return ['/usr/bin/env', ['-u', 'NODE_OPTIONS', command, ...args]]
}

interface Start {
  /** Its working directory; a new one by default. */
  folder?: string
  /** A module that is loaded before the gateway. */
  preload?: string
  /** Options of Node.js. */
  nodeOptions?: string[]
  /** The folder of the gateway's program; by default this one's. */
  root?: string
  /** What to run of `bin/`: by default the bundle, which takes half as long to start, if it is up to date. */
  program?: 'serve.ts' | 'start.js'
}

const ownRoot = join(import.meta.dirname, '..', '..')

/** Starts the gateway as `npm start` does, with `env` as its whole environment. */
export async function spawnGateway (
  t: Teardown, env: Record<string, string> = {}, start: Start = {}
): Promise<GatewayProcess> {
  const { folder, preload, nodeOptions = [], root = ownRoot } = start
  // An older version has no bundle.
  const { program = root === ownRoot ? 'start.js' : 'serve.ts' } = start
  const cwd = folder ?? await temporaryFolder(t)
  const first = preload === undefined ? [] : ['--import', preload]
  const args = [...nodeOptions, ...first, '--import', join(root, 'bin', 'compile-cache.js'), join(root, 'bin', program)]
  const child = spawn(...withoutHooks(process.execPath, ...args), {
    cwd, env: { ...usual, ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  const outcome = outcomeOf(child)
  t.teardown(() => {
    if (child.exitCode === null) child.kill('SIGKILL')
    return outcome.exited
  })
  return { child, folder: cwd, ...outcome }
}

/** Collects the output of a process that was just started. */
export function outcomeOf (child: ChildProcessByStdio<null, Readable, Readable>): Outcome {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', text => {
      output += text
      child.emit('output')
    })
  }
  const exited = once(child, 'close').then(([code]) => code)
  return {
    output: () => output,
    exited,
    async printed (pattern) {
      for (;;) {
        const match = pattern.exec(output)
        if (match !== null) return match
        await Promise.race([once(child, 'output'), exited.then(code => {
          if (!pattern.test(output)) throw new Error(`exit ${code} without ${pattern}: ${output}`)
        })])
      }
    }
  }
}

/** The base URL and the first key that a started gateway prints. */
export async function addressOf (gateway: GatewayProcess): Promise<{ url: string, key: string }> {
  const [, url = ''] = await gateway.printed(/Tollgate serves (http\S+)/)
  const key = /sk-tg-\S+/.exec(gateway.output())?.[0] ?? ''
  return { url, key }
}
