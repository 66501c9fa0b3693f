import type { AllowanceGrant, AllowanceRequest } from './allowances.ts'
import { allowanceSize, aloneMs, minuteOf, type LimitCounter } from './counter.ts'
import { leftOf, resetOf, rolled, type Window } from './window.ts'

/** After a rejection, call the store again this soon: another node may have returned an allowance. */
const refusalMs = 1000

/** Counts requests or tokens against allowances of a minute's limit. */
export class RateCounter implements LimitCounter {
  readonly scope: string
  readonly kind: 'requests' | 'tokens'
  limit: number
  usedAtMs = 0
  #minute = 0
  /** The unused allowance; negative for use beyond it. */
  #left = 0
  #spent = 0
  #returned: AllowanceRequest['returned'] = null
  #window: Window = { minute: 0, used: 0, previous: 0 }
  #waiting = { least: 0, sum: 0 }
  #refused = { untilMs: 0, retryAtMs: 0 }
  #aloneUntilMs = 0

  constructor (scope: string, kind: 'requests' | 'tokens', limit: number) {
    this.scope = scope
    this.kind = kind
    this.limit = limit
  }

  get isEmpty (): boolean { return this.#left === 0 && this.#returned === null }

  get isLow (): boolean { return this.#left <= allowanceSize(this.limit) / 4 }

  canTake (amount: number, nowMs: number): boolean {
    this.#startMinute(nowMs)
    return this.#left >= amount || (nowMs < this.#aloneUntilMs && this.#spent + amount <= this.limit)
  }

  take (amount: number, nowMs: number): void {
    this.#left -= amount
    this.#spent += amount
    this.usedAtMs = nowMs
  }

  correct (difference: number, ofMinute: number, nowMs: number): void {
    this.#startMinute(nowMs)
    if (difference > 0 || ofMinute === this.#minute) {
      this.#left -= difference
      this.#spent += difference
    } else if (ofMinute === this.#minute - 1) {
      this.#giveBack(-difference, ofMinute)
    }
  }

  refusedForMs (nowMs: number): number | null {
    const { untilMs, retryAtMs } = this.#refused
    return nowMs < untilMs ? Math.max(1, retryAtMs - nowMs) : null
  }

  addWaiting (amount: number, nowMs: number): void {
    const { least, sum } = this.#waiting
    this.usedAtMs = nowMs
    this.#waiting = { least: sum === 0 ? amount : Math.min(least, amount), sum: sum + amount }
  }

  nextRequest (nowMs: number, isIdle: boolean): AllowanceRequest | null {
    this.#startMinute(nowMs)
    const { scope, kind, limit } = this
    const { least: need, sum } = this.#waiting
    if (isIdle && this.#left > 0 && sum === 0) {
      this.#giveBack(this.#left, this.#minute)
      this.#left = 0
    }
    this.#waiting = { least: 0, sum: 0 }
    const taken = Math.max(0, -this.#left)
    const returned = this.#returned
    if (sum === 0 && taken === 0 && returned === null && (isIdle || !this.isLow)) return null
    const wanted = isIdle && sum === 0 ? 0 : Math.max(sum, allowanceSize(limit))
    this.#returned = null
    this.#left += taken
    return { scope, kind, limit, minute: this.#minute, taken, need, waiting: sum, wanted, returned }
  }

  receive ({ request, granted, waitMs, window }: AllowanceGrant, nowMs: number): void {
    this.#startMinute(nowMs)
    this.#window = window
    this.#aloneUntilMs = 0
    if (request.minute === this.#minute) this.#left += granted
    else this.#giveBack(granted, request.minute)
    if (waitMs <= 0) return
    this.#refused = { untilMs: nowMs + Math.min(waitMs, refusalMs), retryAtMs: nowMs + waitMs }
  }

  takeBack ({ taken, returned }: AllowanceRequest): void {
    this.#left -= taken
    if (returned !== null) this.#giveBack(returned.amount, returned.minute)
  }

  continueAlone (nowMs: number): void {
    this.#aloneUntilMs = nowMs + aloneMs
  }

  remaining (nowMs: number): { left: number, resetMs: number } {
    const window = rolled(this.#window, minuteOf(nowMs))
    return {
      left: Math.min(this.limit, Math.max(0, leftOf(window, this.limit, nowMs) + this.#left)),
      resetMs: resetOf(window, nowMs)
    }
  }

  #startMinute (nowMs: number): void {
    const now = minuteOf(nowMs)
    if (now <= this.#minute) return
    this.#giveBack(this.#left, this.#minute)
    if (this.#left > 0) this.#left = 0
    this.#minute = now
    this.#spent = 0
  }

  #giveBack (amount: number, ofMinute: number): void {
    if (amount <= 0) return
    const before = this.#returned?.minute === ofMinute ? this.#returned.amount : 0
    this.#returned = { minute: ofMinute, amount: before + amount }
  }
}
