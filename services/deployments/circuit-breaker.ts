import type { BreakerConfig } from '../catalogue/types.ts'

export type Permit = number

const maxOpenMs = 60_000
const maxPauseMs = 60_000
/** Keeps several nodes from retrying at the same moment. */
const jitter = 0.2
/** 2 to this power exceeds `maxOpenMs` for every configurable `openMs`. */
const maxDoublings = 16

/**
 * Stops calls to a deployment that keeps failing. `closed` lets all calls through, `open` none for a while,
 * `half-open` a single one, whose result closes or opens it. Times are monotonic milliseconds.
 */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/**
 * Creates a closed breaker. It opens after `failures` in a row, or when the error rate of a window with
 * enough calls is too high; each time without a success in between for twice as long.
 */
export function createCircuitBreaker (
  { config, random }: { config: () => { breaker: BreakerConfig }, random: () => number }
) {
  let state: 'closed' | 'open' | 'half-open' = 'closed'
  /** Counts openings, so that permits from before the last one are recognized. */
  let generation = 0
  let isProbing = false
  let openUntilMs = 0
  let pausedUntilMs = 0
  let doublings = 0
  let failuresInRow = 0
  const window = createWindow()

  function open (nowMs: number): void {
    const openMs = Math.min(config().breaker.openMs * 2 ** doublings, maxOpenMs)
    state = 'open'
    generation++
    isProbing = false
    doublings = Math.min(doublings + 1, maxDoublings)
    failuresInRow = 0
    window.clear()
    openUntilMs = nowMs + openMs * (1 - jitter + 2 * jitter * random())
  }

  return {
    /** `paused`: the provider asked for a pause, which does not stop calls. */
    state (nowMs: number): 'ready' | 'paused' | 'open' {
      if (state === 'half-open' ? isProbing : state === 'open' && nowMs < openUntilMs) return 'open'
      return nowMs < pausedUntilMs ? 'paused' : 'ready'
    },

    waitMs: (nowMs: number): number => state === 'open' ? Math.max(0, openUntilMs - nowMs) : 0,

    /**
     * Returns a permit, which is given back once by `succeeded`, `failed` or `release`, or null when no call
     * may start. Results of calls from before the breaker opened are ignored.
     */
    acquire (nowMs: number): Permit | null {
      if (state === 'closed') return generation
      if (state === 'open' ? nowMs < openUntilMs : isProbing) return null
      state = 'half-open'
      isProbing = true
      return generation
    },

    succeeded (permit: Permit, nowMs: number): void {
      if (permit !== generation) return
      failuresInRow = 0
      doublings = 0
      if (state === 'half-open') {
        state = 'closed'
        isProbing = false
      }
      window.count(false, nowMs, config().breaker.windowMs)
    },

    failed (permit: Permit, nowMs: number): void {
      if (permit !== generation) return
      if (state === 'half-open') return open(nowMs)
      const { failures, errorRate, minRequests, windowMs } = config().breaker
      failuresInRow++
      window.count(true, nowMs, windowMs)
      const isOverRate = window.calls >= minRequests && window.failures >= errorRate * window.calls
      if (failuresInRow >= failures || isOverRate) open(nowMs)
    },

    /** Ends a call that says nothing about the deployment, e.g. because the client disconnected. */
    release (permit: Permit): void {
      if (permit === generation) isProbing = false
    },

    /** Prefers other deployments for a while, as the provider asked. */
    pause (forMs: number, nowMs: number): void {
      pausedUntilMs = Math.max(pausedUntilMs, nowMs + Math.min(forMs, maxPauseMs))
    },

    trip (nowMs: number): void {
      if (state !== 'open') open(nowMs)
    },

    halfOpen (): void {
      if (state === 'open') openUntilMs = 0
    }
  }
}

/** Counts calls in two halves of a window, so the counts cover between half and one and a half of it. */
function createWindow () {
  let halfEndsMs = -Infinity
  let present = { calls: 0, failures: 0 }
  let before = { calls: 0, failures: 0 }
  return {
    get calls () { return present.calls + before.calls },
    get failures () { return present.failures + before.failures },
    count (isFailure: boolean, nowMs: number, windowMs: number): void {
      if (nowMs >= halfEndsMs) {
        const isOld = nowMs >= halfEndsMs + windowMs / 2
        before = isOld ? { calls: 0, failures: 0 } : present
        present = { calls: 0, failures: 0 }
        halfEndsMs = nowMs + windowMs / 2
      }
      present.calls++
      if (isFailure) present.failures++
    },
    clear (): void {
      present = { calls: 0, failures: 0 }
      before = { calls: 0, failures: 0 }
    }
  }
}
