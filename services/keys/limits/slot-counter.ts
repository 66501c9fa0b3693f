import type { AllowanceGrant, AllowanceRequest } from './allowances.ts'
import { allowanceSize, aloneMs, minuteOf, type LimitCounter } from './counter.ts'
import { slotLeaseMs } from './statements.ts'

/** After a rejection, call the store again this soon: a slot may become free at any time. */
const refusalMs = 250
/** A lease is not used this shortly before its expiry, because the nodes' clocks may drift. */
const leaseMarginMs = 2000

/** Counts the requests in progress against the slots that this node leases. */
export class SlotCounter implements LimitCounter {
  readonly scope: string
  readonly kind = 'concurrent'
  readonly isLow = false
  limit: number
  usedAtMs = 0
  #slots = 0
  #leasedUntilMs = 0
  #inUse = 0
  #slotsOfOthers = 0
  #waiting = 0
  #refusedUntilMs = 0

  constructor (scope: string, limit: number) {
    this.scope = scope
    this.limit = limit
  }

  get isEmpty (): boolean { return this.#slots === 0 && this.#inUse === 0 }

  canTake (amount: number, nowMs: number): boolean {
    return this.#inUse + amount <= Math.min(this.#slots, this.limit) && nowMs < this.#leasedUntilMs
  }

  take (amount: number, nowMs: number): void {
    this.#inUse += amount
    this.usedAtMs = nowMs
  }

  correct (difference: number): void { this.#inUse += difference }

  refusedForMs (nowMs: number): number | null { return nowMs < this.#refusedUntilMs ? 1000 : null }

  addWaiting (amount: number, nowMs: number): void {
    this.usedAtMs = nowMs
    this.#waiting += amount
  }

  nextRequest (nowMs: number, isIdle: boolean): AllowanceRequest | null {
    const { scope, kind, limit } = this
    const waiting = this.#waiting
    const taken = this.#inUse
    if (this.#slots === 0 && waiting === 0 && taken === 0) return null
    const isHeartbeatDue = this.#leasedUntilMs - nowMs < slotLeaseMs / 2
    const isSpare = isIdle && this.#slots > taken
    if (waiting === 0 && !isHeartbeatDue && !isSpare) return null
    const spare = isIdle && waiting === 0 ? 0 : allowanceSize(limit)
    const wanted = Math.max(waiting, spare)
    this.#waiting = 0
    // From now on, slots that are not requested again may belong to another node.
    this.#slots = Math.min(this.#slots, taken + wanted)
    const need = Math.min(waiting, 1)
    return { scope, kind, limit, minute: minuteOf(nowMs), taken, need, waiting, wanted, returned: null }
  }

  receive ({ granted, waitMs, window }: AllowanceGrant, nowMs: number): void {
    this.#slots = granted
    this.#leasedUntilMs = nowMs + slotLeaseMs - leaseMarginMs
    this.#slotsOfOthers = window.used
    if (waitMs > 0) this.#refusedUntilMs = nowMs + refusalMs
  }

  takeBack (): void {}

  continueAlone (nowMs: number): void {
    this.#slots = this.limit
    this.#leasedUntilMs = nowMs + aloneMs
  }

  remaining (): { left: number, resetMs: number } {
    return { left: Math.max(0, this.limit - this.#slotsOfOthers - this.#inUse), resetMs: 0 }
  }
}
