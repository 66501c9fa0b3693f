import type { BreakerConfig } from '../catalogue/types.ts'

/**
 * Keeps requests away from a deployment that keeps failing. Times are milliseconds of a clock that is never
 * set. `closed`: all may pass; `open`: none, for a while; `half-open`: one, whose end decides.
 */
export interface Breaker {
  /** What it would say to a request now. `resting`: its provider asked for a pause, which is no failure. */
  standing (nowMs: number): 'ready' | 'resting' | 'open'
  /** How long until it lets a request through, in ms; 0 when it would now. */
  waitMs (nowMs: number): number
  /**
   * Lets a request pass, or not: then null. Whoever passes reports its end with the ticket, exactly once; a
   * ticket from before the breaker opened says nothing about now, and is overlooked.
   */
  enter (nowMs: number): Ticket | null
  succeeded (ticket: Ticket, nowMs: number): void
  failed (ticket: Ticket, nowMs: number): void
  /** The end says nothing about the deployment: the client has gone, or asked for what nobody can do. */
  left (ticket: Ticket): void
  /** The provider asked to be left alone for so long; others are preferred meanwhile. */
  rest (forMs: number, nowMs: number): void
  /** Opens at once, as after too many failures. */
  trip (nowMs: number): void
  /** Lets the next request try, however long it was to stay open. */
  probe (): void
}

export type Ticket = number

interface BreakerContext {
  /** Asked each time, because the configuration may change. */
  options: () => BreakerConfig
  /** From 0 up to, not including, 1. */
  random: () => number
}

/** Longest time that it stays open, however often it has opened in a row. */
const maxOpenMs = 60_000
/** Longest rest, whatever the provider asks for. */
const maxRestMs = 60_000
/** Several nodes should not come back at the same moment. */
const jitter = 0.2

/**
 * Creates a closed breaker. It opens after so many failures in a row, or when too large a part of the calls
 * within a window failed; each time it opens again without a success in between, for twice as long.
 */
export function createBreaker ({ options, random }: BreakerContext): Breaker {
  let state: 'closed' | 'open' | 'half-open' = 'closed'
  let generation = 0
  let isProbing = false
  let openUntilMs = 0
  let restUntilMs = 0
  let timesOpened = 0
  let failuresInRow = 0
  const window = createWindow()

  function open (nowMs: number): void {
    const openMs = Math.min(options().openMs * 2 ** timesOpened, maxOpenMs)
    state = 'open'
    generation++
    isProbing = false
    timesOpened = Math.min(timesOpened + 1, 16)
    failuresInRow = 0
    window.clear()
    openUntilMs = nowMs + openMs * (1 - jitter + 2 * jitter * random())
  }

  return {
    standing (nowMs) {
      if (state === 'half-open' ? isProbing : state === 'open' && nowMs < openUntilMs) return 'open'
      return nowMs < restUntilMs ? 'resting' : 'ready'
    },

    waitMs: nowMs => state === 'open' ? Math.max(0, openUntilMs - nowMs) : 0,

    enter (nowMs) {
      if (state === 'closed') return generation
      if (state === 'open' ? nowMs < openUntilMs : isProbing) return null
      state = 'half-open'
      isProbing = true
      return generation
    },

    succeeded (ticket, nowMs) {
      if (ticket !== generation) return
      failuresInRow = 0
      timesOpened = 0
      if (state === 'half-open') {
        state = 'closed'
        isProbing = false
      }
      window.count(false, nowMs, options().windowMs)
    },

    failed (ticket, nowMs) {
      if (ticket !== generation) return
      if (state === 'half-open') return open(nowMs)
      const { failures, errorRate, minRequests, windowMs } = options()
      failuresInRow++
      window.count(true, nowMs, windowMs)
      const isBad = window.calls >= minRequests && window.failures >= errorRate * window.calls
      if (failuresInRow >= failures || isBad) open(nowMs)
    },

    left (ticket) {
      if (ticket === generation) isProbing = false
    },

    rest (forMs, nowMs) {
      restUntilMs = Math.max(restUntilMs, nowMs + Math.min(forMs, maxRestMs))
    },

    trip (nowMs) {
      if (state !== 'open') open(nowMs)
    },

    probe () {
      if (state === 'open') openUntilMs = 0
    }
  }
}

/** Counts of the last window, at most one and a half of it: the present half and the one before. */
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
