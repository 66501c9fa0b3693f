import type { LimitKind } from '../../shared/limits.ts'
import type { AllowanceGrant, AllowanceRequest } from './allowances.ts'
import { minuteMs } from './window.ts'

/** One limit as one node counts it. Times are milliseconds since 1970. */
export interface LimitCounter {
  readonly scope: string
  readonly kind: LimitKind
  limit: number
  canTake (amount: number, nowMs: number): boolean
  /** Takes `amount`; the caller has checked `canTake`. */
  take (amount: number, nowMs: number): void
  /** Corrects what was taken: of a rate, in `minute`; of slots, now. */
  correct (difference: number, minute: number, nowMs: number): void
  /** For how many more ms a refusal of the store applies; null: it does not. */
  refusedForMs (nowMs: number): number | null
  addWaiting (amount: number, nowMs: number): void
  /** What to request from the store. When idle, unused allowance is returned. */
  nextRequest (nowMs: number, isIdle: boolean): AllowanceRequest | null
  receive (grant: AllowanceGrant, nowMs: number): void
  /** Undoes `nextRequest`: the store did not get the request. Requests that waited have to wait again. */
  takeBack (request: AllowanceRequest): void
  /** The store does not answer: for `aloneMs` this node applies the whole limit on its own. */
  continueAlone (nowMs: number): void
  /** Whether to request more before requests have to wait. */
  readonly isLow: boolean
  /** As far as this node knows; `resetMs` is the time until the whole limit is left. */
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
