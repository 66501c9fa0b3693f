import type { ChildProcess } from 'node:child_process'
import type { LoadCounts } from '../../http/load.ts'
import type { MetricsSum, Snapshot } from '../observability/metrics/sum.ts'
import type { Log } from '../../shared/log.ts'
import { createBackoff } from './backoff.ts'
import { createLink, type Link } from './link.ts'

/** The ports that a worker listens on; 0 lets the system choose. */
export interface Ports { port: number, secondPort: number }

/** The message of a worker that serves requests. */
export interface Ready extends Ports {
  /** The message for the person who started the gateway. */
  banner: string
}

export interface SupervisorOptions {
  count: number
  ports: Ports
  start (ports: Ports): ChildProcess
  log: Log
  metrics: MetricsSum
}

/** Shorter than the workers wait for the sum, so that one that hangs does not delay the others' counts. */
const responseTimeoutMs = 2_000

interface Worker { id: number, child: ChildProcess, link: Link, startedMs: number, isReady: boolean }

export type Supervisor = Readonly<ReturnType<typeof createSupervisor>>

/**
 * Creates the supervisor of a node's workers: it starts them, replaces those that end, and relays messages
 * for all of them. Workers serve the same ports; the system distributes the connections. A worker ends when
 * its channel to this process does.
 *
 *   starting ──ready──► running ──ended, crashed──► replaced ──at once, or after a backoff──► starting
 *      └──cannot be started──► replaced
 *   any state ──`leave`──► leaving ──ended──► gone; `ended` resolves with the last one
 *
 * If the first worker ends before it is ready, it is not replaced and the node ends.
 * Long because its short methods share private state.
 */
export function createSupervisor ({ count, ports, start, log, metrics }: SupervisorOptions) {
  const workers = new Set<Worker>()
  const backoff = createBackoff()
  const restarts = new Set<NodeJS.Timeout>()
  const ended = Promise.withResolvers<number>()
  let bound = ports
  let lastId = 0
  let exitCode = 0
  let isLeaving = false
  let restartCount = 0

  /**
   * Resolves when the worker serves requests, with null if it has ended before. Rejects with the system's
   * error if there are no resources for a process.
   */
  async function add (): Promise<Ready | null> {
    const id = ++lastId
    const child = start(bound)
    const ready = Promise.withResolvers<Ready | null>()
    const link = createLink(child, {
      timeoutMs: responseTimeoutMs,
      handlers: { metrics: metricsText, counts: sumCounts },
      notes: {
        ready (value: Ready) {
          worker.isReady = true
          ready.resolve(value)
        }
      }
    })
    const worker: Worker = { id, child, link, startedMs: performance.now(), isReady: false }
    workers.add(worker)
    child.on('error', err => log.error({ err }, 'a worker could not be started'))
    // Also emitted if no process was started.
    child.once('close', (code, signal) => {
      remove(worker, code, signal)
      ready.resolve(null)
    })
    return await ready.promise
  }

  function remove (worker: Worker, code: number | null, signal: string | null): void {
    workers.delete(worker)
    metrics.retire(worker.id).catch(err => log.warn({ err }, 'the counts of a worker are lost'))
    if (isLeaving || bound === ports) {
      exitCode ||= code ?? 1
      if (workers.size === 0) ended.resolve(exitCode)
      return
    }
    replace(worker, code, signal)
  }

  function replace ({ child: { pid }, startedMs }: Worker, code: number | null, signal: string | null): void {
    // An operator may replace a worker by sending it SIGTERM.
    const delayMs = code === 0 ? 0 : backoff.delayMs(performance.now() - startedMs)
    const details = { pid, code, signal, restartMs: delayMs }
    if (code === 0) log.info(details, 'a worker has ended and is replaced')
    else log.error(details, 'a worker has crashed and is replaced')
    restart(delayMs)
  }

  function restart (delayMs: number): void {
    const timer = setTimeout(() => {
      restarts.delete(timer)
      restartCount++
      addOrRetry()
    }, delayMs)
    restarts.add(timer)
  }

  async function addOrRetry (): Promise<void> {
    try {
      await add()
    } catch (err) {
      if (isLeaving) return
      const restartMs = backoff.delayMs(0)
      log.error({ err, restartMs }, 'a worker could not be started')
      restart(restartMs)
    }
  }

  const readyOnes = () => [...workers].filter(({ isReady }) => isReady)

  async function metricsText (): Promise<string> {
    await Promise.all(readyOnes().map(async worker => {
      try {
        const snapshot = await worker.link.call('metrics') as Snapshot
        if (workers.has(worker)) metrics.update(worker.id, snapshot)
      } catch (err) {
        log.warn({ err, worker: worker.id }, 'the metrics of a worker could not be read; its last ones count')
      }
    }))
    return await metrics.text()
  }

  async function sumCounts (): Promise<LoadCounts> {
    const responses = await Promise.allSettled(readyOnes().map(({ link }) => link.call('counts') as Promise<LoadCounts>))
    const sum: LoadCounts = { requests: 0, streams: 0, polls: 0, bytes: 0 }
    for (const response of responses) {
      if (response.status === 'rejected') continue
      for (const kind of ['requests', 'streams', 'polls', 'bytes'] as const) sum[kind] += response.value[kind]
    }
    return sum
  }

  return {
    /**
     * Starts the workers: first a single one, which may have to migrate the database and chooses unset ports.
     * Null if it ends at once.
     */
    async start (): Promise<Ready | null> {
      const first = await add()
      if (first === null || isLeaving) return null
      bound = { port: first.port, secondPort: first.secondPort }
      await Promise.all(Array.from({ length: count - 1 }, addOrRetry))
      return first
    },
    metricsText,
    /** Resolves with the exit code once all workers have ended and none will be replaced. */
    ended: ended.promise,
    /** Makes every worker finish its requests and end, as after `signal`. */
    leave (signal: string): void {
      isLeaving = true
      restarts.forEach(timer => clearTimeout(timer))
      for (const { link } of workers) link.notify('leave', signal)
      if (workers.size === 0) ended.resolve(exitCode)
    },
    /** Sends a signal to every worker that serves requests. */
    signal (signal: NodeJS.Signals): void {
      for (const { child } of readyOnes()) child.kill(signal)
    },
    kill (): void {
      for (const { child } of workers) child.kill('SIGKILL')
    },
    get running () { return readyOnes().length },
    get restarts () { return restartCount }
  }
}
