import { StoreUnavailable } from './store.ts'

/**
 * Creates a lock that runs one piece of work at a time, first come, first served. Throws StoreUnavailable
 * when it is not free within `maxWaitMs` or `maxWaiting` wait; the timeout also ends the deadlock of work
 * that waits for the lock it holds.
 */
export function createWriteLock ({ maxWaitMs, maxWaiting }: { maxWaitMs: number, maxWaiting: number }) {
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

  /** The lock is not free in between, so that newcomers cannot overtake. */
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
    async run<T> (work: () => T | Promise<T>): Promise<T> {
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
