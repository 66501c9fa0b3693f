export type PollRate = ReturnType<typeof createPollRate>

/** Limits the polls per second by a sliding window: bursts pass at once while their second has room. */
export function createPollRate () {
  let rate = 0
  /** The last slots handed out, one per place in a window; the oldest is at `next`. */
  let slots = new Float64Array()
  let next = 0
  return {
    /** Reserves the next free slot at a rate that may change; returns the wait in ms. */
    take (nowMs: number, perSecond: number): number {
      if (perSecond !== rate) {
        rate = perSecond
        slots = new Float64Array(Math.ceil(perSecond)).fill(-Infinity)
        next = 0
      }
      // A second, or longer for less than one per second.
      const windowMs = slots.length * 1000 / perSecond
      const slotMs = Math.max(nowMs, (slots[next] ?? -Infinity) + windowMs)
      slots[next] = slotMs
      next = (next + 1) % slots.length
      return slotMs - nowMs
    }
  }
}
