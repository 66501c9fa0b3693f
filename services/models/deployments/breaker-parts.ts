import type { BreakerConfig } from '../../config/catalogue/types.ts'

interface Counts { calls: number, failures: number }

/** Most keys that are counted separately in half a window. */
const maxKeys = 256

export type TooMany = 'no' | 'for its key' | 'for all'

/**
 * Counts the results of calls in a row and in a window, to detect a deployment that fails for every client.
 * The prompts of one key may be the reason, so its failures suffice only while no other key is in use:
 * otherwise the other keys must reach half of each number without the key that fails most.
 */
export function createFailureCount () {
  let inRow = 0
  const inRowOf = new Map<string, number>()
  const window = createWindow()

  const worstInRow = (): number => Math.max(0, ...inRowOf.values())

  function isOverRate ({ minRequests, errorRate }: BreakerConfig): TooMany {
    const { calls, failures } = window.total()
    if (calls < minRequests || failures < errorRate * calls) return 'no'
    const worst = window.worst()
    const others = { calls: calls - worst.calls, failures: failures - worst.failures }
    if (others.calls >= minRequests / 2 && others.failures >= errorRate * others.calls) return 'for all'
    return window.isOneKey() ? 'for its key' : 'no'
  }

  return {
    succeeded (key: string, nowMs: number, { windowMs }: BreakerConfig): void {
      window.count(key, false, nowMs, windowMs)
      if (inRow === 0) return
      inRow = 0
      inRowOf.clear()
    },

    /**
     * Whether there are too many failures, for all keys or only for the one in use. `key` is null for a
     * failure that no prompt can cause.
     */
    failed (key: string | null, nowMs: number, breaker: BreakerConfig): TooMany {
      window.count(key, true, nowMs, breaker.windowMs)
      inRow++
      if (key !== null && inRowOf.size < maxKeys) inRowOf.set(key, (inRowOf.get(key) ?? 0) + 1)
      const { failures } = breaker
      if (inRow >= failures && inRow - worstInRow() >= failures / 2) return 'for all'
      if (inRow >= failures && window.isOneKey()) return 'for its key'
      return isOverRate(breaker)
    },

    /** The key with the most failures; null while only one key is in use. */
    worstKey: (): string | null => window.isOneKey() ? null : window.worst().key,

    clear (): void {
      inRow = 0
      inRowOf.clear()
      window.clear()
    }
  }
}

/** Counts calls by key in two halves of a window; the counts cover between half and one and a half of it. */
function createWindow () {
  const empty = () => ({ total: { calls: 0, failures: 0 }, byKey: new Map<string, Counts>() })
  let halfEndsMs = -Infinity
  let present = empty()
  let before = empty()

  function countsOf (key: string): Counts {
    let counts = present.byKey.get(key)
    if (counts === undefined) {
      counts = { calls: 0, failures: 0 }
      if (present.byKey.size < maxKeys) present.byKey.set(key, counts)
    }
    return counts
  }

  return {
    count (key: string | null, isFailure: boolean, nowMs: number, windowMs: number): void {
      if (nowMs >= halfEndsMs) {
        before = nowMs >= halfEndsMs + windowMs / 2 ? empty() : present
        present = empty()
        halfEndsMs = nowMs + windowMs / 2
      }
      add(present.total, isFailure)
      if (key !== null) add(countsOf(key), isFailure)
    },

    total: (): Counts => sum(present.total, before.total),

    isOneKey (): boolean {
      const keys = new Set([...present.byKey.keys(), ...before.byKey.keys()])
      return keys.size <= 1
    },

    /** The key with the most failures, and its counts. */
    worst (): Counts & { key: string | null } {
      let worst: Counts & { key: string | null } = { key: null, ...none }
      for (const key of new Set([...present.byKey.keys(), ...before.byKey.keys()])) {
        const counts = sum(present.byKey.get(key), before.byKey.get(key))
        if (counts.failures > worst.failures) worst = { key, ...counts }
      }
      return worst
    },

    clear (): void {
      present = empty()
      before = empty()
    }
  }
}

const none: Counts = { calls: 0, failures: 0 }

function add (counts: Counts, isFailure: boolean): void {
  counts.calls++
  if (isFailure) counts.failures++
}

function sum (one: Counts = none, other: Counts = none): Counts {
  return { calls: one.calls + other.calls, failures: one.failures + other.failures }
}

const maxOpenMs = 60_000
/** Keeps several nodes from retrying at the same moment. */
const jitter = 0.2
/** 2 to this power exceeds `maxOpenMs` for every configurable `openMs`. */
const maxDoublings = 16

/**
 * Rejects calls for a while, twice as long after each failed trial, then admits one trial call. For `openMs`,
 * a key that may be the reason leaves the trial to the others.
 */
export type Gate = ReturnType<typeof createGate>

/** Creates a gate that does not reject calls yet. `random` is in [0, 1). */
export function createGate (random: () => number) {
  let isOpen = false
  let isProbing = false
  let untilMs = 0
  let doublings = 0
  let failedLast: { key: string | null, restsMs: number } = { key: null, restsMs: 0 }
  return {
    get isOpen () { return isOpen },
    holds: (nowMs: number): boolean => isOpen && (isProbing || nowMs < untilMs),
    waitMs: (nowMs: number): number => isOpen ? Math.max(0, untilMs - nowMs) : 0,

    /** `key` is the one whose prompts may be the reason. */
    open (nowMs: number, openMs: number, key: string | null = null): void {
      const lengthMs = Math.min(openMs * 2 ** doublings, maxOpenMs)
      isOpen = true
      isProbing = false
      doublings = Math.min(doublings + 1, maxDoublings)
      failedLast = { key, restsMs: openMs }
      untilMs = nowMs + lengthMs * (1 - jitter + 2 * jitter * random())
    },

    close (): void {
      isOpen = false
      isProbing = false
      doublings = 0
    },

    /** Whether the call is the trial that decides. */
    probe (nowMs: number, key = ''): boolean {
      if (!isOpen || isProbing || nowMs < untilMs) return false
      if (key === failedLast.key && nowMs < untilMs + failedLast.restsMs) return false
      isProbing = true
      return true
    },

    release (): void { isProbing = false },
    holdUntil (ms: number): void { if (isOpen) untilMs = Math.max(untilMs, ms) },
    halfOpen (): void { if (isOpen) untilMs = 0 }
  }
}
