/** Calls back later. Given from outside, so that time can be simulated. */
export interface Timers {
  /**
   * Calls `work` once after `delayMs`, at the next turn of the event loop for 0; returns how to call it off.
   */
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
