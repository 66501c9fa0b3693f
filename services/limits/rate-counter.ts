import type { AllowanceRequest } from './allowances.ts'
import { allowanceSize, aloneMs, minuteOf } from './counter.ts'
import type { LimitCounter } from './counter.ts'
import { leftOf, resetOf, rolled } from './window.ts'
import type { Window } from './window.ts'

/** After a refusal, ask the store again this soon: another node may have returned some of its allowance. */
const refusalMs = 1000

/** Counts requests or tokens against allowances of a minute's limit. */
export function createRateCounter (
  scope: string, kind: 'requests' | 'tokens', limit: number
): LimitCounter {
  let minute = 0
  /** The unused allowance; below zero, what was used beyond it. */
  let left = 0
  let spent = 0
  let returned: AllowanceRequest['returned'] = null
  let known: Window = { minute: 0, used: 0, previous: 0 }
  let waiting = { least: 0, sum: 0 }
  let refused = { untilMs: 0, retryAtMs: 0 }
  let aloneUntilMs = 0
  let usedAtMs = 0

  function giveBack (amount: number, ofMinute: number): void {
    if (amount <= 0) return
    const before = returned?.minute === ofMinute ? returned.amount : 0
    returned = { minute: ofMinute, amount: before + amount }
  }

  function startMinute (nowMs: number): void {
    const now = minuteOf(nowMs)
    if (now <= minute) return
    giveBack(left, minute)
    if (left > 0) left = 0
    minute = now
    spent = 0
  }

  const isLow = (): boolean => left <= allowanceSize(counter.limit) / 4
  const canCountAlone = (amount: number, nowMs: number): boolean => {
    return nowMs < aloneUntilMs && spent + amount <= counter.limit
  }

  const counter: LimitCounter = {
    scope,
    kind,
    limit,
    isLow,
    get usedAtMs () { return usedAtMs },
    get isEmpty () { return left === 0 && returned === null },

    canTake (amount, nowMs) {
      startMinute(nowMs)
      return left >= amount || canCountAlone(amount, nowMs)
    },

    take (amount, nowMs) {
      left -= amount
      spent += amount
      usedAtMs = nowMs
    },

    correct (difference, ofMinute, nowMs) {
      startMinute(nowMs)
      if (difference > 0 || ofMinute === minute) {
        left -= difference
        spent += difference
      } else if (ofMinute === minute - 1) {
        giveBack(-difference, ofMinute)
      }
    },

    refusedForMs: nowMs => nowMs < refused.untilMs ? Math.max(1, refused.retryAtMs - nowMs) : null,

    addWaiting (amount, nowMs) {
      usedAtMs = nowMs
      waiting = {
        least: waiting.sum === 0 ? amount : Math.min(waiting.least, amount), sum: waiting.sum + amount
      }
    },

    nextRequest (nowMs, isIdle) {
      startMinute(nowMs)
      const { least: need, sum } = waiting
      if (isIdle && left > 0 && sum === 0) {
        giveBack(left, minute)
        left = 0
      }
      waiting = { least: 0, sum: 0 }
      const overdraft = Math.max(0, -left)
      if (sum === 0 && overdraft === 0 && returned === null && (isIdle || !isLow())) return null
      const wanted = isIdle && sum === 0 ? 0 : Math.max(sum, allowanceSize(counter.limit))
      const request = {
        scope, kind, limit: counter.limit, minute, taken: overdraft, need, waiting: sum, wanted, returned
      }
      returned = null
      left += overdraft
      return request
    },

    receive ({ request, granted, waitMs, window }, nowMs) {
      startMinute(nowMs)
      known = window
      aloneUntilMs = 0
      if (request.minute === minute) left += granted
      else giveBack(granted, request.minute)
      if (waitMs > 0) refused = { untilMs: nowMs + Math.min(waitMs, refusalMs), retryAtMs: nowMs + waitMs }
    },

    continueAlone (request, nowMs) {
      aloneUntilMs = nowMs + aloneMs
      left -= request.taken
      if (request.returned !== null) giveBack(request.returned.amount, request.returned.minute)
    },

    remaining (nowMs) {
      const window = rolled(known, minuteOf(nowMs))
      return {
        left: Math.min(counter.limit, Math.max(0, leftOf(window, counter.limit, nowMs) + left)),
        resetMs: resetOf(window, nowMs)
      }
    }
  }
  return counter
}
