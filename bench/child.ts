import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const startTimeoutMs = 20_000
const stopTimeoutMs = 5_000
/** A warm-up of 30,000 requests takes minutes on a slow server, or a busy machine. */
const messageTimeoutMs = 300_000
const probe = fileURLToPath(new URL('cpu-probe.js', import.meta.url))

/** The resources that a process has used; see cpu-probe.js. */
export interface Usage {
  /** User and system time of all threads, in microseconds. */
  cpuUs: number
  rssBytes: number
}

/** A Node.js program; a server prints its base URL, and its API key if it needs one. */
export interface Program {
  file: string
  env: Record<string, string>
  cwd: string
  needsKey: boolean
  /** Modules to preload. */
  preloads?: readonly string[]
  /** Options of Node.js. */
  nodeOptions?: readonly string[]
}

/** A running server with its CPU meter; disposing of it stops it. */
export interface Child extends AsyncDisposable {
  /** Ends in `/v1`. */
  url: string
  key: string
  usage (): Promise<Usage>
  /** Sends a message to what is preloaded beside the meter, and resolves with the answer. */
  ask (message: object): Promise<object>
}

/** Starts a server and waits for its address. Throws an Error with the output if it prints none in time. */
export async function startServer (program: Program, nodeOptions: string[] = []): Promise<Child> {
  const child = spawnNode(program, 'pipe', ['--import', probe, ...nodeOptions])
  const { url, key } = await announced(child, program)
  return {
    url,
    key,
    usage: () => request<Usage>(child, 'usage'),
    ask: message => request<object>(child, message),
    [Symbol.asyncDispose]: () => stop(child)
  }
}

/** Starts a program that answers one IPC message with another; disposing of it stops it. */
export function startWorker<Order extends object, Result> (program: Program) {
  const child = spawnNode(program, 'inherit')
  return {
    run: (order: Order) => request<Result>(child, order),
    [Symbol.asyncDispose]: () => stop(child)
  }
}

function spawnNode (program: Program, output: 'pipe' | 'inherit', nodeOptions: string[] = []): ChildProcess {
  const { file, env, cwd, preloads = [], nodeOptions: own = [] } = program
  const imports = preloads.flatMap((preload) => ['--import', preload])
  const { PATH = '', HOME = '' } = process.env
  return spawn(process.execPath, [...own, ...nodeOptions, ...imports, file], {
    cwd,
    env: { PATH, HOME, NODE_ENV: 'production', ...env },
    stdio: ['ignore', output, output, 'ipc']
  })
}

async function announced (child: ChildProcess, { file, needsKey }: Program) {
  const { stdout, stderr } = child
  if (!stdout || !stderr) throw new Error('a child has no output to read')
  let output = ''
  const read = (text: string): void => { output += text }
  for (const stream of [stdout, stderr]) stream.setEncoding('utf8').on('data', read)
  const signal = AbortSignal.timeout(startTimeoutMs)
  for (;;) {
    const url = /http:\/\/127\.0\.0\.1:\d+\/v1/.exec(output)?.[0]
    const key = /sk-tg-[\w-]+/.exec(output)?.[0]
    if (url !== undefined && (key !== undefined || !needsKey)) {
      // Drains the log, because an unread pipe makes the server buffer it.
      for (const stream of [stdout, stderr]) stream.off('data', read).resume()
      return { url, key: key ?? 'none' }
    }
    try {
      await once(stdout, 'data', { signal })
    } catch {
      child.kill('SIGKILL')
      throw new Error(`${file} did not print its address and key. It printed:\n${output}`)
    }
  }
}

async function request<Result> (child: ChildProcess, message: object | string): Promise<Result> {
  const answered = once(child, 'message', { signal: AbortSignal.timeout(messageTimeoutMs) })
  child.send(message)
  const [answer] = await answered
  return answer
}

async function stop (child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
  child.kill('SIGTERM')
  await exited
  clearTimeout(killer)
}
