import type { LimitKind } from '../shared/limits.ts'
import { StoreUnavailable, type Store } from '../store/store.ts'
import { createAllowanceExchange, deleteExpiredLimits } from './allowances.ts'
import type { LimitCounter } from './counter.ts'
import { RateCounter } from './rate-counter.ts'
import { SlotCounter } from './slot-counter.ts'
import { periodically } from '../shared/timers.ts'

export interface CountersOptions {
  store: Store
  /** Unique for each run of a process. */
  node: string
  /** Milliseconds since 1970; that of the store by default, on which the nodes agree. */
  clock?: () => number
  onError: (error: unknown) => void
  maintenanceMs?: number
}

/** After this time without use, a counter returns what is left of its allowance. */
const idleMs = 2000
/** After this time without use, an empty counter is dropped. */
const dropAfterMs = 120_000
const deleteExpiredEveryMs = 600_000

/** Creates the counters of one node, kept in step with the store. */
export function createCounters (
  { store, node, clock = store.clock, onError, maintenanceMs = 1000 }: CountersOptions
) {
  const counters = new Map<string, LimitCounter>()
  const exchangeAllowances = createAllowanceExchange(store, node)
  const due = new Set<LimitCounter>()
  const idle = new Set<LimitCounter>()
  let running: Promise<unknown> = Promise.resolve()
  let next: Promise<boolean> | null = null
  let deletedExpiredAtMs = clock()

  function exchange (): Promise<boolean> {
    if (next !== null) return next
    next = running.then(() => {
      next = null
      return exchangeDue()
    })
    running = next
    return next
  }

  async function exchangeDue (): Promise<boolean> {
    const nowMs = clock()
    const pending = [...due].flatMap(counter => {
      const request = counter.nextRequest(nowMs, idle.has(counter))
      return request === null ? [] : [{ counter, request }]
    })
    due.clear()
    idle.clear()
    if (pending.length === 0) return true
    const counterOf = new Map(pending.map(({ counter, request }) => [request, counter]))
    // The same order on every node, so that no two transactions deadlock.
    const requests = pending.map(({ request }) => request)
      .sort((one, other) => idOf(one.kind, one.scope) < idOf(other.kind, other.scope) ? -1 : 1)
    try {
      const grants = await exchangeAllowances(requests, nowMs)
      for (const grant of grants) counterOf.get(grant.request)?.receive(grant, clock())
      return true
    } catch (error) {
      for (const { counter, request } of pending) counter.continueAlone(request, clock())
      if (!(error instanceof StoreUnavailable)) onError(error)
      return false
    }
  }

  const maintenance = periodically(() => maintenanceMs, async () => {
    const nowMs = clock()
    for (const [id, counter] of counters) {
      const unusedMs = nowMs - counter.usedAtMs
      if (counter.isEmpty && unusedMs > dropAfterMs) counters.delete(id)
      if (unusedMs > idleMs) idle.add(counter)
      if (unusedMs > idleMs || counter.kind === 'concurrent') due.add(counter)
    }
    await exchange()
    if (nowMs - deletedExpiredAtMs < deleteExpiredEveryMs) return
    deletedExpiredAtMs = nowMs
    await deleteExpiredLimits(store, nowMs)
  }, onError)

  return {
    /** Exchanges due requests for grants, one transaction at a time. False in an outage of the store. */
    exchange,
    markDue (counter: LimitCounter): void { due.add(counter) },

    get (scope: string, kind: LimitKind, limit: number): LimitCounter {
      const id = idOf(kind, scope)
      let counter = counters.get(id)
      if (counter === undefined) {
        counter = kind === 'concurrent' ? new SlotCounter(scope, limit) : new RateCounter(scope, kind, limit)
        counters.set(id, counter)
      }
      counter.limit = limit
      return counter
    },

    async close (): Promise<void> {
      await maintenance.stop()
      for (const counter of counters.values()) {
        due.add(counter)
        idle.add(counter)
      }
      await exchange()
    }
  }
}

const idOf = (kind: LimitKind, scope: string): string => `${kind} ${scope}`
