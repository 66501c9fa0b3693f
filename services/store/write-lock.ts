import { StoreUnavailable } from './store.ts'

/** Runs one piece of work at a time, first come, first served. */
interface WriteLock {
  /** Throws StoreUnavailable when the lock is not free in time or too many wait, else what `work` throws. */
  run<T> (work: () => T | Promise<T>): Promise<T>
}

/**
 * Creates a lock for which callers wait at most `maxWaitMs`, and at most `maxWaiting` at once. The timeout
 * also ends the deadlock of work that waits for the lock it holds.
 */
export function createWriteLock (
  { maxWaitMs, maxWaiting }: { maxWaitMs: number, maxWaiting: number }
): WriteLock {
  const waiting = new Set<() => void>()
  let taken = false

  function wait (): Promise<void> {
    if (waiting.size >= maxWaiting) throw new StoreUnavailable(new Error(`${maxWaiting} statements are waiting`))
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.delete(begin)
      reject(new StoreUnavailable(new Error(`The write lock was not free within ${maxWaitMs} ms`)))
    }, maxWaitMs)
    waiting.add(begin)
    return promise
  }

  /** Hands the lock over without freeing it in between, so that newcomers cannot overtake. */
  function passOn (): void {
    const [next] = waiting
    if (next === undefined) {
      taken = false
    } else {
      waiting.delete(next)
      next()
    }
  }

  return {
    async run (work) {
      if (taken) await wait()
      taken = true
      try {
        return await work()
      } finally {
        passOn()
      }
    }
  }
}
