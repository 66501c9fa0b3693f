import type { Answer, Ask } from './leases.ts'
import { slotLeaseMs } from './leases.ts'
import type { LimitKind } from '../shared/limits.ts'
import { leftOf, minuteMs, resetOf, rolled } from './window.ts'
import type { Window } from './window.ts'

/** One limit as one node counts it. Times are milliseconds since 1970. */
export interface Meter {
  readonly scope: string
  readonly kind: LimitKind
  limit: number
  /** Whether so much may be used now without asking anybody. */
  has (need: number, nowMs: number): boolean
  /** Uses it; whoever runs has asked `has`. */
  take (need: number, nowMs: number): void
  /** Of a rate: what was taken in `minute` was really so much more, or less. Of slots: so many more run. */
  correct (more: number, minute: number, nowMs: number): void
  /** How long it is refused without asking again; null: it is not. ms. */
  refusedForMs (nowMs: number): number | null
  /** Somebody waits for so much. */
  want (need: number, nowMs: number): void
  /** What is to be asked of the store; null when nothing has to be. `isIdle`: what is spare is given back. */
  toAsk (nowMs: number, isIdle: boolean): Ask | null
  hear (answer: Answer, nowMs: number): void
  /** The store could not be asked: for a moment, this node goes on as if it were alone. */
  goOn (ask: Ask, nowMs: number): void
  /** Whether it should ask before somebody has to wait. */
  isLow (): boolean
  /** What is left of the limit, and how long until all is again; as far as this node knows. */
  standing (nowMs: number): { left: number, resetMs: number }
  readonly usedAtMs: number
  readonly isEmpty: boolean
}

/** A slice is this part of the limit. */
const slicesPerLimit = 16
/** How long a refusal stands without asking again: other nodes may give something back. */
const refusalMs = { rate: 1000, slots: 250 }
/** How long a node goes on alone before it asks again. */
const aloneMs = 1000
/** Slots are not used so long before they end, against clocks that run unevenly. */
const slotMarginMs = 2000

const minuteOf = (nowMs: number): number => Math.floor(nowMs / minuteMs)

/** Counts requests or tokens in slices of a minute's limit. */
export function createRateMeter (scope: string, kind: 'requests' | 'tokens', limit: number): Meter {
  let minute = 0
  /** What was granted and not used; below zero, what was used and not granted. */
  let left = 0
  let spent = 0
  let returned: Ask['returned'] = null
  let known: Window = { minute: 0, used: 0, previous: 0 }
  let waiting = { least: 0, sum: 0 }
  let refused = { untilMs: 0, retryAtMs: 0 }
  let aloneUntilMs = 0

  function giveBack (amount: number, ofMinute: number): void {
    if (amount <= 0) return
    const before = returned?.minute === ofMinute ? returned.amount : 0
    returned = { minute: ofMinute, amount: before + amount }
  }

  function turn (nowMs: number): void {
    const now = minuteOf(nowMs)
    if (now <= minute) return
    giveBack(left, minute)
    if (left > 0) left = 0
    minute = now
    spent = 0
  }

  const slice = () => Math.ceil(meter.limit / slicesPerLimit)
  const isAlone = (need: number, nowMs: number) => nowMs < aloneUntilMs && spent + need <= meter.limit

  let usedAtMs = 0
  const meter: Meter = {
    scope,
    kind,
    limit,
    get usedAtMs () { return usedAtMs },
    get isEmpty () { return left === 0 && returned === null },
    has (need, nowMs) {
      turn(nowMs)
      return left >= need || isAlone(need, nowMs)
    },
    take (need, nowMs) {
      left -= need
      spent += need
      usedAtMs = nowMs
    },
    correct (more, ofMinute, nowMs) {
      turn(nowMs)
      if (more > 0 || ofMinute === minute) {
        left -= more
        spent += more
      } else if (ofMinute === minute - 1) {
        giveBack(-more, ofMinute)
      }
    },
    refusedForMs: nowMs => nowMs < refused.untilMs ? Math.max(1, refused.retryAtMs - nowMs) : null,
    want (need, nowMs) {
      usedAtMs = nowMs
      waiting = { least: waiting.sum === 0 ? need : Math.min(waiting.least, need), sum: waiting.sum + need }
    },
    toAsk (nowMs, isIdle) {
      turn(nowMs)
      const { least: need, sum } = waiting
      if (isIdle && left > 0 && sum === 0) {
        giveBack(left, minute)
        left = 0
      }
      waiting = { least: 0, sum: 0 }
      const owed = Math.max(0, -left)
      if (sum === 0 && owed === 0 && returned === null && (isIdle || left > slice() / 4)) return null
      const want = isIdle && sum === 0 ? 0 : Math.max(sum, slice())
      const ask = { scope, kind, limit: meter.limit, minute, owed, need, waiting: sum, want, returned }
      returned = null
      left += owed
      return ask
    },
    hear ({ ask, granted, waitMs, window }, nowMs) {
      turn(nowMs)
      known = window
      aloneUntilMs = 0
      if (ask.minute === minute) left += granted
      else giveBack(granted, ask.minute)
      if (waitMs <= 0) return
      refused = { untilMs: nowMs + Math.min(waitMs, refusalMs.rate), retryAtMs: nowMs + waitMs }
    },
    goOn (ask, nowMs) {
      aloneUntilMs = nowMs + aloneMs
      left -= ask.owed
      if (ask.returned !== null) giveBack(ask.returned.amount, ask.returned.minute)
    },
    isLow: () => left <= slice() / 4,
    standing (nowMs) {
      const window = rolled(known, minuteOf(nowMs))
      return {
        left: Math.min(meter.limit, Math.max(0, leftOf(window, meter.limit, nowMs) + left)),
        resetMs: resetOf(window, nowMs)
      }
    }
  }
  return meter
}

/** Counts requests that run. */
export function createSlotMeter (scope: string, limit: number): Meter {
  let slots = 0
  let slotsUntilMs = 0
  let inUse = 0
  let ofOthers = 0
  let waiting = 0
  let refusedUntilMs = 0

  let usedAtMs = 0
  const meter: Meter = {
    scope,
    kind: 'concurrent',
    limit,
    get usedAtMs () { return usedAtMs },
    get isEmpty () { return slots === 0 && inUse === 0 },
    has: (need, nowMs) => inUse + need <= Math.min(slots, meter.limit) && nowMs < slotsUntilMs,
    take (need, nowMs) {
      inUse += need
      usedAtMs = nowMs
    },
    correct (more) { inUse += more },
    refusedForMs: nowMs => nowMs < refusedUntilMs ? 1000 : null,
    want (need, nowMs) {
      usedAtMs = nowMs
      waiting += need
    },
    toAsk (nowMs, isIdle) {
      if (slots === 0 && waiting === 0 && inUse === 0) return null
      const isDue = slotsUntilMs - nowMs < slotLeaseMs / 2
      const isSpare = isIdle && slots > inUse
      if (waiting === 0 && !isDue && !isSpare) return null
      const spare = isIdle && waiting === 0 ? 0 : Math.ceil(meter.limit / slicesPerLimit)
      const ask = {
        scope,
        kind: 'concurrent' as const,
        limit: meter.limit,
        minute: minuteOf(nowMs),
        owed: inUse,
        need: Math.min(waiting, 1),
        waiting,
        want: Math.max(waiting, spare),
        returned: null
      }
      waiting = 0
      // What is not asked for again may be another node's from now on.
      slots = Math.min(slots, inUse + ask.want)
      return ask
    },
    hear ({ granted, waitMs, window }, nowMs) {
      slots = granted
      slotsUntilMs = nowMs + slotLeaseMs - slotMarginMs
      ofOthers = window.used
      if (waitMs > 0) refusedUntilMs = nowMs + refusalMs.slots
    },
    goOn (_ask, nowMs) {
      slots = meter.limit
      slotsUntilMs = nowMs + aloneMs
    },
    isLow: () => false,
    standing: () => ({ left: Math.max(0, meter.limit - ofOthers - inUse), resetMs: 0 })
  }
  return meter
}
