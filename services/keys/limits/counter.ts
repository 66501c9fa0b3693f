import type { LimitKind } from '../../shared/limits.ts'
import type { AllowanceGrant, AllowanceRequest } from './allowances.ts'
import { minuteMs } from './window.ts'

/**
 * The share of one limit that a node leases: an allowance of a minute, or slots. Times are milliseconds since
 * 1970.
 *
 *   empty ──nextRequest──► requested ──receive──► leased ──used up, expired or returned──► empty
 *                              └──continueAlone──► alone ──aloneMs──► empty
 *
 * While `alone`, because the store does not respond, the node applies the whole limit on its own.
 */
export interface LimitCounter {
  readonly scope: string
  readonly kind: LimitKind
  limit: number
  canTake (amount: number, nowMs: number): boolean
  /** Takes `amount`; the caller has checked `canTake`. */
  take (amount: number, nowMs: number): void
  /** Corrects the amount taken: for a rate, in `minute`; for slots, now. */
  correct (difference: number, minute: number, nowMs: number): void
  /** For how many more ms a rejection by the store applies, or null. */
  refusedForMs (nowMs: number): number | null
  addWaiting (amount: number, nowMs: number): void
  /** The next request to the store. When idle, it returns the unused allowance. */
  nextRequest (nowMs: number, isIdle: boolean): AllowanceRequest | null
  receive (grant: AllowanceGrant, nowMs: number): void
  /** Undoes `nextRequest`, which the store has not received. Waiting requests wait again. */
  takeBack (request: AllowanceRequest): void
  /** The store does not respond: for `aloneMs` this node applies the whole limit on its own. */
  continueAlone (nowMs: number): void
  /** Whether to request more before requests have to wait. */
  readonly isLow: boolean
  /** The node's estimate of the limit; `resetMs` is the time until the whole limit is available. */
  remaining (nowMs: number): { left: number, resetMs: number }
  readonly usedAtMs: number
  readonly isEmpty: boolean
}

/** How long a node counts alone before it contacts the store again. */
export const aloneMs = 1000

/** The usual size of one allowance: a sixteenth of the limit. */
export function allowanceSize (limit: number): number {
  return Math.ceil(limit / 16)
}

/** Returns the minute of a time, counted from 1970. */
export function minuteOf (nowMs: number): number {
  return Math.floor(nowMs / minuteMs)
}
