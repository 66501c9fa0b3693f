import { periodically } from '../shared/periodically.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Store } from '../store/store.ts'
import { createLeases, forgetLeases } from './leases.ts'
import { createRateMeter, createSlotMeter } from './meter.ts'
import type { Meter } from './meter.ts'
import { limitReached, spanText, tooLarge } from './refusals.ts'
import { limitKinds, limitOfKind } from '../shared/limits.ts'
import type { LimitKind, ScopedLimits } from '../shared/limits.ts'
import { minuteMs } from './window.ts'

/** What one admitted request has taken. Ended exactly once by `end`. */
export interface Admission {
  /** `x-ratelimit-*`, of the limit that is nearest. */
  readonly headers: Record<string, string>
  /**
   * The request is over. `tokens` is what it used, null when nobody knows: then it stays what was reserved. A
   * request that did not count, because nothing was done for it, takes nothing of its minute.
   */
  end (outcome: { counts: boolean, tokens: number | null }): void
}

/** The limits of keys and accounts, shared by all nodes of a store. */
export interface Limits {
  /**
   * Takes a request and its tokens off every limit given: at once while this node has its slice of them, else
   * after one question to the store. Throws, or rejects with, GatewayError 429.
   */
  admit (scopes: readonly ScopedLimits[], tokens: number): Admission | Promise<Admission>
  /** Requests refused since the start, by what was used up. */
  readonly refused: Readonly<Record<LimitKind, number>>
  /** Gives back what this node has and stops. */
  close (): Promise<void>
}

interface LimitsOptions {
  store: Store
  /** Another one for each life of a process. */
  node: string
  /** Milliseconds since 1970; the nodes' clocks should agree to a second. */
  clock?: () => number
  onError: (error: unknown) => void
  upkeepMs?: number
}

/** How long a limit is not used before what is spare is given back. */
const idleMs = 2000
const forgetEveryMs = 600_000
/** How often one request asks again when others were faster. */
const maxRounds = 10

/**
 * Creates the limits of one node. It takes slices of a limit from the store, a sixteenth at most, and counts
 * requests in memory, so that a limit costs the database some thirty transactions a minute, however many
 * requests there are. How exact that is:
 *
 * - All nodes together never let more through in a minute of the clock than the limit, and what the minute
 *   before used counts for the part of it that lies within the last 60 seconds, as if it had been spread
 *   evenly: two bursts at the ends of two minutes may come to nearly twice the limit within 60 s. Tokens may
 *   exceed it by what answers were longer than they said, which the next requests pay for.
 * - A node may refuse while others still have a slice: less than a sixteenth each, for two seconds at most.
 * - While the store cannot be asked, every node lets through up to the whole limit by itself.
 * - The slots of a node that was killed are free again after 15 seconds.
 */
export function createLimits (
  { store, node, clock = Date.now, onError, upkeepMs = 1000 }: LimitsOptions
): Limits {
  const meters = new Map<string, Meter>()
  const exchange = createLeases(store, node)
  const due = new Set<Meter>()
  const refused = { requests: 0, tokens: 0, concurrent: 0 }
  const idle = new Set<Meter>()
  let underWay: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | null = null
  let forgotAtMs = clock()

  function meterOf (scope: string, kind: LimitKind, limit: number): Meter {
    const id = `${kind} ${scope}`
    let meter = meters.get(id)
    if (meter === undefined) {
      meter = kind === 'concurrent' ? createSlotMeter(scope, limit) : createRateMeter(scope, kind, limit)
      meters.set(id, meter)
    }
    meter.limit = limit
    return meter
  }

  /**
   * One question at a time; what comes up meanwhile is asked together in the next one. False: there was no
   * answer.
   */
  function ask (): Promise<boolean> {
    if (next !== null) return next
    next = underWay.then(() => {
      next = null
      return askDue()
    })
    underWay = next
    return next
  }

  async function askDue (): Promise<boolean> {
    const nowMs = clock()
    const asked = [...due].map(meter => ({ meter, ask: meter.toAsk(nowMs, idle.has(meter)) }))
    due.clear()
    idle.clear()
    const asks = asked.flatMap(({ ask }) => ask ?? [])
    if (asks.length === 0) return true
    const meterOfAsk = new Map(asked.map(({ meter, ask }) => [ask, meter]))
    // In one order everywhere, so that no two nodes wait for each other.
    const sorted = asks.toSorted((one, other) => idOf(one) < idOf(other) ? -1 : 1)
    try {
      for (const answer of await exchange(sorted, nowMs)) meterOfAsk.get(answer.ask)?.hear(answer, clock())
      return true
    } catch (error) {
      for (const { meter, ask } of asked) if (ask !== null) meter.goOn(ask, clock())
      if (!(error instanceof StoreUnavailable)) onError(error)
      return false
    }
  }

  function needsOf (scopes: readonly ScopedLimits[], tokens: number): Need[] {
    return scopes.flatMap(limits => limitKinds.flatMap(kind => {
      const limit = limitOfKind(limits, kind)
      const need = kind === 'tokens' ? tokens : 1
      return limit === null || need === 0 ? [] : [{ meter: meterOf(limits.scope, kind, limit), need }]
    }))
  }

  /** Takes all of it or nothing; returns what is short. */
  function take (needs: readonly Need[], nowMs: number): Need[] {
    const short = needs.filter(({ meter, need }) => !meter.has(need, nowMs))
    if (short.length > 0) return short
    for (const { meter, need } of needs) {
      meter.take(need, nowMs)
      if (meter.isLow()) due.add(meter)
    }
    if (due.size > 0) ask()
    return []
  }

  function refuse (all: readonly Need[], { meter, need }: Need, waitMs: number | null, nowMs: number): never {
    refused[meter.kind]++
    const { scope, kind, limit } = meter
    const headers = headersOf(all, nowMs)
    if (waitMs === null) throw tooLarge({ scope, kind, limit, need, headers })
    throw limitReached({ scope, kind, limit, left: meter.standing(nowMs).left, need, waitMs, headers })
  }

  function admitted (needs: readonly Need[], nowMs: number): Admission {
    const minute = Math.floor(nowMs / minuteMs)
    let isOpen = true
    return {
      headers: headersOf(needs, nowMs),
      end ({ counts, tokens }) {
        if (!isOpen) return
        isOpen = false
        const endMs = clock()
        for (const { meter, need } of needs) {
          if (meter.kind === 'concurrent') meter.correct(-need, minute, endMs)
          else if (!counts) meter.correct(-need, minute, endMs)
          else if (meter.kind === 'tokens' && tokens !== null) meter.correct(tokens - need, minute, endMs)
        }
      }
    }
  }

  /** Throws when one of what is short is refused for now. */
  function refuseKnown (needs: readonly Need[], short: readonly Need[], nowMs: number): void {
    for (const one of short) {
      if (one.need > one.meter.limit) refuse(needs, one, null, nowMs)
      const waitMs = one.meter.refusedForMs(nowMs)
      if (waitMs !== null) refuse(needs, one, waitMs, nowMs)
    }
  }

  async function admitLater (needs: readonly Need[], first: readonly Need[]): Promise<Admission> {
    let short = first
    for (let round = 0; round < maxRounds; round++) {
      for (const { meter, need } of short) {
        meter.want(need, clock())
        due.add(meter)
      }
      const isAnswered = await ask()
      const nowMs = clock()
      short = take(needs, nowMs)
      if (short.length === 0) return admitted(needs, nowMs)
      refuseKnown(needs, short, nowMs)
      if (!isAnswered) break
    }
    const [one] = short
    if (one === undefined) throw new TypeError('Nothing is short')
    return refuse(needs, one, 1000, clock())
  }

  const upkeep = periodically(() => upkeepMs, async () => {
    const nowMs = clock()
    for (const [id, meter] of meters) {
      const unusedMs = nowMs - meter.usedAtMs
      if (meter.isEmpty && unusedMs > 60 * idleMs) meters.delete(id)
      if (unusedMs > idleMs) idle.add(meter)
      if (unusedMs > idleMs || meter.kind === 'concurrent') due.add(meter)
    }
    await ask()
    if (nowMs - forgotAtMs < forgetEveryMs) return
    forgotAtMs = nowMs
    await forgetLeases(store, nowMs)
  }, onError)

  return {
    refused,
    admit (scopes, tokens) {
      const needs = needsOf(scopes, tokens)
      const nowMs = clock()
      const short = take(needs, nowMs)
      if (short.length === 0) return admitted(needs, nowMs)
      refuseKnown(needs, short, nowMs)
      return admitLater(needs, short)
    },
    async close () {
      await upkeep.stop()
      for (const meter of meters.values()) {
        due.add(meter)
        idle.add(meter)
      }
      await ask()
    }
  }
}

interface Need { meter: Meter, need: number }

const idOf = ({ kind, scope }: { kind: LimitKind, scope: string }): string => `${kind} ${scope}`

/** OpenAI's headers, of that limit of each kind of which the least is left. */
function headersOf (needs: readonly Need[], nowMs: number): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'] as const) {
    let least = Infinity
    for (const { meter } of needs) {
      if (meter.kind !== kind) continue
      const { left, resetMs } = meter.standing(nowMs)
      if (left >= least) continue
      least = left
      headers[`x-ratelimit-limit-${kind}`] = String(meter.limit)
      headers[`x-ratelimit-remaining-${kind}`] = String(left)
      headers[`x-ratelimit-reset-${kind}`] = spanText(resetMs)
    }
  }
  return headers
}
