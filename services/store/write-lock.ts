import { StoreUnavailable } from './store.ts'

/** How long pieces of work may follow each other before other events have their turn. */
const maxTurnMs = 10

/**
 * Creates a lock that runs one piece of work at a time, first come, first served. A long row of work leaves
 * time for other events, which awaiting one statement of SQLite after the other does not. Throws
 * StoreUnavailable when it is not free within `maxWaitMs` or `maxWaiting` wait; the timeout also ends the
 * deadlock of work that waits for the lock it holds.
 */
export function createWriteLock ({ maxWaitMs, maxWaiting }: { maxWaitMs: number, maxWaiting: number }) {
  const waiting = new Set<() => void>()
  let taken = false
  /** When work began in this turn of the event loop. */
  let turnMs: number | null = null

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

  function beginTurn (): void {
    if (turnMs !== null) return
    turnMs = performance.now()
    setImmediate(() => { turnMs = null })
  }

  function isTurnOver (): boolean {
    return turnMs !== null && performance.now() - turnMs > maxTurnMs
  }

  return {
    async run<T> (work: () => T | Promise<T>): Promise<T> {
      if (taken) await wait()
      taken = true
      beginTurn()
      try {
        return await work()
      } finally {
        if (isTurnOver()) setImmediate(passOn)
        else passOn()
      }
    }
  }
}
