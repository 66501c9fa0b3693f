/** Timers as a dependency, so that tests can simulate time. */
export interface Timers {
  /** Calls `work` once after `delayMs`, for 0 in the next turn of the event loop. Returns what cancels it. */
  after (delayMs: number, work: () => void): () => void
  /** The same, without keeping the process alive. */
  inBackground (delayMs: number, work: () => void): () => void
}

/** Node's own timers. */
export const realTimers: Timers = {
  after (delayMs, work) {
    if (delayMs === 0) {
      const immediate = setImmediate(work)
      return () => clearImmediate(immediate)
    }
    const timer = setTimeout(work, delayMs)
    return () => clearTimeout(timer)
  },

  inBackground (delayMs, work) {
    const timer = setTimeout(work, delayMs).unref()
    return () => clearTimeout(timer)
  }
}

/** How often a null interval is read again. */
const idleMs = 5000

/** Work that is repeated until it is stopped. */
export interface Periodic {
  /** Starts no further run; resolves when the current one has ended. */
  stop (): Promise<void>
}

/**
 * Repeats `work`, each time `intervalMs` after the last run has ended; a null interval is read again later.
 * `onError` receives what it throws. Does not keep the process alive.
 */
export function periodically (
  intervalMs: () => number | null,
  work: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void
): Periodic {
  const stopping = new AbortController()
  let running: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout

  function schedule (): void {
    if (stopping.signal.aborted) return
    const ms = intervalMs()
    timer = setTimeout(() => {
      running = ms === null ? Promise.resolve() : work(stopping.signal).catch(onError)
      running.finally(schedule)
    }, ms ?? idleMs).unref()
  }

  schedule()
  return {
    async stop () {
      stopping.abort()
      clearTimeout(timer)
      await running
    }
  }
}
