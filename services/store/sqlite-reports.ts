import { Worker } from 'node:worker_threads'
import type { ReportResult, ReportQuestion } from './sqlite-reports-thread.ts'
import { StoreUnavailable, type Reports, type StoreProblem, type Value } from './store.ts'

export interface ReportLimits {
  /** Time limit of a read, and of its wait for its turn. */
  timeoutMs: number
  maxWaiting: number
  /** The program of the thread. */
  program?: URL
}

export type ReportThread = Reports & { close (): Promise<void> }

interface Read {
  question: ReportQuestion
  timer: NodeJS.Timeout
  resolve (rows: unknown[]): void
  reject (error: Error): void
}

const ownProgram = new URL('./sqlite-reports-thread.ts', import.meta.url)
/** A stopped thread ends after its statement, so it may run for a while beside the next one. */
const maxEnding = 2

/**
 * Creates the reports of the SQLite database at `path`: a thread with a read-only connection, started by the
 * first read, that runs one read at a time, first come, first served. A thread that takes too long or crashes
 * is replaced.
 * Long because its short methods share private state.
 */
export function createReportThread (
  path: string, { timeoutMs, maxWaiting, program = ownProgram }: ReportLimits
): ReportThread {
  const waiting = new Set<Read>()
  const ending = new Set<Worker>()
  let running: Read | null = null
  let thread: Worker | null = null
  let isClosed = false

  function start (): Worker {
    const worker = new Worker(program, { workerData: path, name: 'reports', execArgv: [] })
    let crash: unknown = null
    worker.on('message', (response: ReportResult) => { if (worker === thread) finish(response) })
    worker.on('error', error => { crash = error })
    worker.on('exit', code => {
      ending.delete(worker)
      if (worker === thread) {
        thread = null
        fail('unreachable', crash ?? new Error(`The thread of the reports ended with ${code}`))
      }
      next()
    })
    return worker
  }

  function next (): void {
    const [read] = waiting
    if (running !== null || read === undefined || ending.size >= maxEnding) return
    waiting.delete(read)
    clearTimeout(read.timer)
    read.timer = setTimeout(stop, timeoutMs)
    running = read
    thread ??= start()
    thread.ref()
    thread.postMessage(read.question)
  }

  function stop (): void {
    if (thread !== null) {
      ending.add(thread)
      thread.terminate()
    }
    thread = null
    fail('slow', new Error(`A read was not done within ${timeoutMs} ms`))
    next()
  }

  function finish (result: ReportResult): void {
    const read = end()
    if ('rows' in result) read?.resolve(result.rows)
    else read?.reject(toError(result))
    // An idle thread does not keep the process alive.
    if (waiting.size === 0) thread?.unref()
    next()
  }

  function fail (problem: StoreProblem, cause: unknown): void {
    end()?.reject(new StoreUnavailable(cause, { problem }))
  }

  function end (): Read | null {
    const read = running
    clearTimeout(read?.timer)
    running = null
    return read
  }

  async function queue (question: ReportQuestion): Promise<unknown[]> {
    if (isClosed) throw closed()
    if (waiting.size >= maxWaiting) throw crowded(`${maxWaiting} reads are waiting`)
    return await new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(read)
        reject(crowded(`A read had to wait for ${timeoutMs} ms`))
      }, timeoutMs)
      const read = { question, timer, resolve, reject }
      waiting.add(read)
      next()
    })
  }

  return {
    // Callers assert the row type; it cannot be checked here.
    all: async <Row>(sql: string, params: readonly Value[] = []) =>
      await queue({ method: 'all', sql, params }) as Row[],
    get: async <Row>(sql: string, params: readonly Value[] = []) =>
      (await queue({ method: 'get', sql, params }))[0] as Row | undefined,
    async close () {
      isClosed = true
      for (const read of waiting) {
        clearTimeout(read.timer)
        read.reject(closed())
      }
      waiting.clear()
      await Promise.all([...ending, thread].map(worker => worker?.terminate()))
    }
  }
}

function closed (): StoreUnavailable {
  return new StoreUnavailable(new Error('The store is closed'))
}

function crowded (message: string): StoreUnavailable {
  return new StoreUnavailable(new Error(message), { problem: 'crowded' })
}

/** A thread's errors lose their class and extra fields when they are copied. */
function toError ({ message, problem, isRange, details }: Exclude<ReportResult, { rows: unknown }>): Error {
  if (isRange) return new RangeError(message)
  const error = Object.assign(new Error(message), details)
  return problem === null ? error : new StoreUnavailable(error, { problem })
}
