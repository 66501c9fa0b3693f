export type PollRate = ReturnType<typeof createPollRate>

/** How much of the time in which a busy process could not poll is made up for. */
const lateMs = 50
/** After a refusal the rate grows by this share of its maximum per second. */
const growth = 0.01
const lowestPerSecond = 1
/** Refusals within this time of another are about the same rate. */
const sameMs = 1_000

/**
 * Spaces polls evenly, up to a maximum rate. A 429 from the provider halves the rate, which then grows slowly
 * back to the maximum.
 */
export function createPollRate () {
  /** When there is room for the next poll. */
  let nextMs = -Infinity
  let refused = { atMs: -Infinity, perSecond: Infinity }

  function rateAt (nowMs: number, most: number): number {
    if (refused.perSecond === Infinity) return most
    return Math.min(most, refused.perSecond + most * growth * (nowMs - refused.atMs) / 1000)
  }

  return {
    /** Makes a poll if there is room for it, and returns 0; else returns the wait in ms until there is. */
    take (nowMs: number, most: number): number {
      const spaceMs = 1000 / rateAt(nowMs, most)
      // A rate that has become higher counts at once.
      const atMs = Math.min(nextMs, nowMs + spaceMs)
      if (atMs > nowMs) return atMs - nowMs
      nextMs = Math.max(atMs, nowMs - lateMs) + spaceMs
      return 0
    },
    /** Records that the provider has refused a poll because there were too many. */
    refuse (nowMs: number, most: number): void {
      if (nowMs - refused.atMs < sameMs) return
      const lowest = Math.min(most, lowestPerSecond)
      refused = { atMs: nowMs, perSecond: Math.max(lowest, rateAt(nowMs, most) / 2) }
    }
  }
}
