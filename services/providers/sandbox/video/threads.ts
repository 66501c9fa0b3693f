import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/** Threads of one program that answer a message with a message. */
export interface Threads {
  /**
   * Sends `work` to a thread that has none, or a new one; returns what `read` makes of the answer. When it
   * returns null, when the thread fails and when the signal is aborted, the thread is ended and this throws.
   */
  run<T> (work: unknown, signal: AbortSignal, read: (answer: unknown) => T | null): Promise<T>
}

/** Long enough for one piece of work after the other, short enough that what is not used takes no memory. */
const idleMs = 30_000

/**
 * Creates threads that are kept for the next piece of work. Besides the time to start, one for each
 * piece would cost memory for good: the C library gives new threads other arenas, and what is freed in one
 * cannot be used in another. Threads without work do not keep the process alive.
 */
export function createThreads (program: URL): Threads {
  const idle = new Map<Worker, NodeJS.Timeout>()

  function take (): Worker {
    const [kept] = idle
    if (kept === undefined) return start()
    const [worker, timer] = kept
    clearTimeout(timer)
    idle.delete(worker)
    worker.ref()
    return worker
  }

  function start (): Worker {
    const worker = new Worker(program)
    // One that fails without work only is not there any more.
    return worker.on('error', () => {}).on('exit', () => idle.delete(worker))
  }

  function keep (worker: Worker): void {
    worker.unref()
    idle.set(worker, setTimeout(() => worker.terminate(), idleMs).unref())
  }

  return {
    async run (work, signal, read) {
      const worker = take()
      try {
        worker.postMessage(work)
        const [answer] = await once(worker, 'message', { signal })
        const result = read(answer)
        if (result === null) throw new Error(String(answer))
        keep(worker)
        return result
      } catch (error) {
        await worker.terminate()
        throw error
      }
    }
  }
}
