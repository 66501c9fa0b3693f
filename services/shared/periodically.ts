/** Work that comes round until it is stopped. */
export interface Periodic {
  /** Resolves when what was under way has ended; nothing begins after that. */
  stop (): Promise<void>
}

/**
 * Does `work` again and again, each time so long after the last has ended; what it throws goes to `onError`.
 * Without an interval it asks again later for one. The process does not live for it.
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

/** How soon an interval that is set later is noticed. */
const idleMs = 5000
