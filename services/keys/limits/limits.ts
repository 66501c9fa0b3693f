import { setTimeout as sleep } from 'node:timers/promises'
import { limitKinds, limitOfKind, type ScopedLimits } from '../../shared/limits.ts'
import { minuteOf, type LimitCounter } from './counter.ts'
import { createCounters, lockedRowPauseMs, type CountersOptions } from './counters.ts'
import { limitReached, spanText, tooLarge } from './errors.ts'

/** An admitted request and the amounts that it has taken of its limits. */
export interface Admission {
  /** `x-ratelimit-*` headers, for the limit of each kind that is closest to being reached. */
  readonly headers: Record<string, string>
  /**
   * Ends the request; later calls have no effect. `tokens` replaces the reserved amount, if available. A
   * request that does not count returns everything it took.
   */
  end (outcome: { counts: boolean, tokens: number | null }): void
}

/** How many exchanges a request waits for while others take the grants. */
const maxRounds = 10

/**
 * Creates the rate limiter of one node. A node takes allowances from the store, a sixteenth of the limit at a
 * time, and counts requests in memory, so a limit costs the database about thirty exchanges a minute at
 * any load. Its accuracy:
 *
 * - All nodes together never exceed the limit within a calendar minute. The previous minute counts
 *   proportionally to its overlap with the last 60 seconds, as if evenly used: two bursts at opposite ends of
 *   two minutes may reach nearly twice the limit within 60 s. Responses that exceed their token estimate
 *   are deducted from the next window.
 * - A node may reject requests while others still have an allowance: less than a sixteenth each, for at most
 *   2 s.
 * - While the store is unavailable, or has not responded for 2 s, every node applies the whole limit on its
 *   own. The same applies to a limit whose row has been locked for 2 s, which delays no other limit.
 * - The slots of a node that crashed are free after 15 s.
 *
 * Long because its short methods share private state.
 */
export function createRateLimiter (options: CountersOptions) {
  const { store, clock = store.clock } = options
  const counters = createCounters(options)
  const refused = { requests: 0, tokens: 0, concurrent: 0 }

  function needsOf (scopes: readonly ScopedLimits[], tokens: number): Need[] {
    return scopes.flatMap(limits => limitKinds.flatMap(kind => {
      const limit = limitOfKind(limits, kind)
      const amount = kind === 'tokens' ? tokens : 1
      if (limit === null || amount === 0) return []
      return [{ counter: counters.get(limits.scope, kind, limit), amount }]
    }))
  }

  function take (needs: readonly Need[], nowMs: number): Need[] {
    const short = needs.filter(({ counter, amount }) => !counter.canTake(amount, nowMs))
    if (short.length > 0) return short
    for (const { counter, amount } of needs) {
      counter.take(amount, nowMs)
      if (!counter.isLow) continue
      counters.markDue(counter)
      counters.exchange()
    }
    return []
  }

  function refuse (needs: readonly Need[], short: Need, waitMs: number | null, nowMs: number): never {
    const { counter, amount } = short
    const { scope, kind, limit } = counter
    refused[kind]++
    const refusal = { scope, kind, limit, need: amount, headers: headersOf(needs, nowMs) }
    if (waitMs === null) throw tooLarge(refusal)
    throw limitReached({ ...refusal, left: counter.remaining(nowMs).left, waitMs })
  }

  /** Throws if a need is beyond its limit and rejected for now. */
  function refuseKnown (needs: readonly Need[], short: readonly Need[], nowMs: number): void {
    for (const one of short) {
      if (one.amount > one.counter.limit) refuse(needs, one, null, nowMs)
      const waitMs = one.counter.refusedForMs(nowMs)
      if (waitMs !== null) refuse(needs, one, waitMs, nowMs)
    }
  }

  function createAdmission (needs: readonly Need[], nowMs: number): Admission {
    const minute = minuteOf(nowMs)
    let hasEnded = false
    return {
      headers: headersOf(needs, nowMs),
      end ({ counts, tokens }) {
        if (hasEnded) return
        hasEnded = true
        const endMs = clock()
        for (const { counter, amount } of needs) {
          if (counter.kind === 'concurrent' || !counts) counter.correct(-amount, minute, endMs)
          else if (counter.kind === 'tokens' && tokens !== null) counter.correct(tokens - amount, minute, endMs)
        }
      }
    }
  }

  async function admitLater (needs: readonly Need[], first: readonly Need[]): Promise<Admission> {
    let short = first
    for (let round = 0; round < maxRounds;) {
      for (const { counter, amount } of short) {
        counter.addWaiting(amount, clock())
        counters.markDue(counter)
      }
      const isAvailable = await counters.exchange()
      const nowMs = clock()
      short = take(needs, nowMs)
      if (short.length === 0) return createAdmission(needs, nowMs)
      refuseKnown(needs, short, nowMs)
      if (!isAvailable) break
      if (short.some(({ counter }) => counters.isLocked(counter))) await sleep(lockedRowPauseMs)
      else round++
    }
    const [one] = short
    if (one === undefined) throw new TypeError('No need is short')
    return refuse(needs, one, 1000, clock())
  }

  return {
    /** Requests rejected since the start. */
    refused,
    close: counters.close,
    /**
     * Takes from each limit: at once from this node's allowance, else after an exchange with the store.
     * Throws, or rejects with, GatewayError 429.
     */
    admit (scopes: readonly ScopedLimits[], tokens: number): Admission | Promise<Admission> {
      const needs = needsOf(scopes, tokens)
      const nowMs = clock()
      const short = take(needs, nowMs)
      if (short.length === 0) return createAdmission(needs, nowMs)
      refuseKnown(needs, short, nowMs)
      return admitLater(needs, short)
    }
  }
}

interface Need { counter: LimitCounter, amount: number }

/** OpenAI's headers, for the limit of each kind with the least left. */
function headersOf (needs: readonly Need[], nowMs: number): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'] as const) {
    let least = Infinity
    for (const { counter } of needs) {
      if (counter.kind !== kind) continue
      const { left, resetMs } = counter.remaining(nowMs)
      if (left >= least) continue
      least = left
      headers[`x-ratelimit-limit-${kind}`] = String(counter.limit)
      headers[`x-ratelimit-remaining-${kind}`] = String(left)
      headers[`x-ratelimit-reset-${kind}`] = spanText(resetMs)
    }
  }
  return headers
}
