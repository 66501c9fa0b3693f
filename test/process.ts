import { spawn, type ChildProcess, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

// A busy machine is no load that requests have to be turned away for.
const usual = { PORT: '0', TOLLGATE_DISCOVER: 'off', TOLLGATE_MAX_LAG_MS: '60000' }

interface Teardown { teardown (work: () => unknown): void }

/** What a process writes and how it ends. */
export interface Outcome {
  /** Everything written to standard output and standard error so far. */
  output (): string
  /** Resolves with the first match in the output, now or later; rejects when the process ends without it. */
  printed (pattern: RegExp): Promise<RegExpExecArray>
  /** Resolves with the exit code; null if a signal ended the process. */
  exited: Promise<number | null>
}

/** A gateway in a process of its own, as a user starts it. */
export interface GatewayProcess extends Outcome {
  child: ChildProcess
  /** An empty folder of its own, removed at the end. */
  folder: string
}

/** A folder that is removed when the test ends. */
export async function temporaryFolder (t: Teardown): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/**
 * A command as a user runs it: tap loads its hooks into every process that a test starts, by an option in the
 * environment, which takes each a part of a second.
 */
export function withoutHooks (command: string, ...args: string[]): [string, string[]] {
  return ['/usr/bin/env', ['-u', 'NODE_OPTIONS', command, ...args]]
}

/** Starts the gateway as `npm start` does; its environment is `env` and no more. */
export async function spawnGateway (
  t: Teardown, env: Record<string, string> = {}, folder?: string
): Promise<GatewayProcess> {
  const cwd = folder ?? await temporaryFolder(t)
  const root = join(import.meta.dirname, '..')
  const program = ['--import', join(root, 'bin', 'compile-cache.js'), join(root, 'bin', 'serve.ts')]
  const child = spawn(...withoutHooks(process.execPath, ...program), {
    cwd, env: { ...usual, ...env }, stdio: ['ignore', 'pipe', 'pipe']
  })
  const outcome = outcomeOf(child)
  t.teardown(() => {
    if (child.exitCode === null) child.kill('SIGKILL')
    return outcome.exited
  })
  return { child, folder: cwd, ...outcome }
}

/** Collects what a process that was just started writes. */
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
