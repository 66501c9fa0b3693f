import { allowanceSize, aloneMs, minuteOf } from './counter.ts'
import type { LimitCounter } from './counter.ts'
import { slotLeaseMs } from './leases.ts'

/** After a refusal, ask the store again this soon: a slot may be free at any time. */
const refusalMs = 250
/** A lease is not used this long before it expires, in case the nodes' clocks run unevenly. */
const leaseMarginMs = 2000

/** Counts the requests in progress against the slots that this node leases. */
export function createSlotCounter (scope: string, limit: number): LimitCounter {
  let slots = 0
  let leasedUntilMs = 0
  let inUse = 0
  let slotsOfOthers = 0
  let waiting = 0
  let refusedUntilMs = 0
  let usedAtMs = 0

  const counter: LimitCounter = {
    scope,
    kind: 'concurrent',
    limit,
    get usedAtMs () { return usedAtMs },
    get isEmpty () { return slots === 0 && inUse === 0 },
    canTake: (amount, nowMs) => inUse + amount <= Math.min(slots, counter.limit) && nowMs < leasedUntilMs,

    take (amount, nowMs) {
      inUse += amount
      usedAtMs = nowMs
    },

    correct (difference) { inUse += difference },
    refusedForMs: nowMs => nowMs < refusedUntilMs ? 1000 : null,

    addWaiting (amount, nowMs) {
      usedAtMs = nowMs
      waiting += amount
    },

    nextRequest (nowMs, isIdle) {
      if (slots === 0 && waiting === 0 && inUse === 0) return null
      const isHeartbeatDue = leasedUntilMs - nowMs < slotLeaseMs / 2
      const isSpare = isIdle && slots > inUse
      if (waiting === 0 && !isHeartbeatDue && !isSpare) return null
      const spare = isIdle && waiting === 0 ? 0 : allowanceSize(counter.limit)
      const request = {
        scope,
        kind: 'concurrent' as const,
        limit: counter.limit,
        minute: minuteOf(nowMs),
        taken: inUse,
        need: Math.min(waiting, 1),
        waiting,
        wanted: Math.max(waiting, spare),
        returned: null
      }
      waiting = 0
      // Slots that are not requested again may belong to another node from now on.
      slots = Math.min(slots, inUse + request.wanted)
      return request
    },

    receive ({ granted, waitMs, window }, nowMs) {
      slots = granted
      leasedUntilMs = nowMs + slotLeaseMs - leaseMarginMs
      slotsOfOthers = window.used
      if (waitMs > 0) refusedUntilMs = nowMs + refusalMs
    },

    continueAlone (_request, nowMs) {
      slots = counter.limit
      leasedUntilMs = nowMs + aloneMs
    },

    isLow: () => false,
    remaining: () => ({ left: Math.max(0, counter.limit - slotsOfOthers - inUse), resetMs: 0 })
  }
  return counter
}
