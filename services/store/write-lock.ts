import { StoreUnavailable } from './store.ts'

/** Lets one piece of work run at a time, in the order of asking. */
export interface Turns {
  /**
   * Throws StoreUnavailable when the turn does not come in time or too many are waiting, else what `work`
   * throws.
   */
  take<T> (work: () => T | Promise<T>): Promise<T>
}

/**
 * Creates a queue in which nobody waits longer than `maxWaitMs` and at most `maxWaiting` wait at once.
 * The limit in time also ends the deadlock of a turn that is asked for from within a turn.
 */
export function createTurns ({ maxWaitMs, maxWaiting }: { maxWaitMs: number, maxWaiting: number }): Turns {
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
      reject(new StoreUnavailable(new Error(`No turn to write within ${maxWaitMs} ms`)))
    }, maxWaitMs)
    waiting.add(begin)
    return promise
  }

  /** Hands the turn over without ever giving it back in between, so that nobody new can push in front. */
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
    async take (work) {
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
