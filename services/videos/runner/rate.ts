/** Hands out moments so that no more than a number of them lies in any second. */
export interface Rate {
  /**
   * Takes the next free moment, for a number per second that may change, and returns how long to wait for it,
   * in ms.
   */
  take (nowMs: number, perSecond: number): number
}

/** Creates a rate. Moments that fall together need not wait while their second has room for them. */
export function createRate (): Rate {
  let rate = 0
  /** The last moments handed out, as many as a window may have; the oldest is at `next`. */
  let moments = new Float64Array()
  let next = 0
  return {
    take (nowMs, perSecond) {
      if (perSecond !== rate) {
        rate = perSecond
        moments = new Float64Array(Math.ceil(perSecond)).fill(-Infinity)
        next = 0
      }
      // A second, or as long as it takes for the number to be a whole one.
      const windowMs = moments.length * 1000 / perSecond
      const momentMs = Math.max(nowMs, (moments[next] ?? -Infinity) + windowMs)
      moments[next] = momentMs
      next = (next + 1) % moments.length
      return momentMs - nowMs
    }
  }
}
