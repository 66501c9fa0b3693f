/** Hands out moments so that no more than a number of them lies in any second. */
export interface Rate {
  /** Takes the next free moment and returns how long to wait for it, in ms. */
  take (nowMs: number, perSecond: number): number
}

/** Creates a rate that allows a burst of what one second allows. Source: the generic cell rate algorithm. */
export function createRate (): Rate {
  let nextMs = -Infinity
  return {
    take (nowMs, perSecond) {
      const everyMs = 1000 / perSecond
      // A free moment is kept for a second, so that polls which happen to fall together need not wait.
      nextMs = Math.max(nextMs, nowMs - 1000 + everyMs)
      const waitMs = Math.max(0, nextMs - nowMs)
      nextMs += everyMs
      return waitMs
    }
  }
}
