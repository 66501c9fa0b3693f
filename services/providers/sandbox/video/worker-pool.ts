import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Worker threads that reply to each message with one message. */
export interface WorkerPool {
  /** Sends `task` to a worker. If `parse` returns null, it fails or the signal aborts: ends it and throws. */
  run<T> (task: unknown, signal: AbortSignal, parse: (reply: unknown) => T | null): Promise<T>
}

const idleMs = 30_000

/** A pool that reuses idle workers: each new thread costs a malloc arena that is never returned. */
export function createWorkerPool (program: URL): WorkerPool {
  const idle = new Map<Worker, NodeJS.Timeout>()

  function take (): Worker {
    const [entry] = idle
    if (entry === undefined) return start()
    const [worker, timer] = entry
    clearTimeout(timer)
    idle.delete(worker)
    worker.ref()
    return worker
  }

  function start (): Worker {
    const worker = new Worker(program, { execArgv: [] })
    // An idle worker that fails just leaves the pool.
    return worker.on('error', () => {}).on('exit', () => idle.delete(worker))
  }

  function release (worker: Worker): void {
    worker.unref()
    idle.set(worker, setTimeout(() => worker.terminate(), idleMs).unref())
  }

  return {
    async run (task, signal, parse) {
      const worker = take()
      try {
        worker.postMessage(task)
        const [reply] = await once(worker, 'message', { signal })
        const result = parse(reply)
        if (result === null) throw new Error(String(reply))
        release(worker)
        return result
      } catch (error) {
        await worker.terminate()
        throw error
      }
    }
  }
}
