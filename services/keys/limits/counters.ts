import { setTimeout as sleep } from 'node:timers/promises'
import type { LimitKind } from '../../shared/limits.ts'
import { StoreUnavailable, type Store } from '../../store/store.ts'
import { createAllowanceExchange, deleteExpiredLimits, type AllowanceRequest } from './allowances.ts'
import type { LimitCounter } from './counter.ts'
import { RateCounter } from './rate-counter.ts'
import { SlotCounter } from './slot-counter.ts'
import { idOf } from './statements.ts'
import { periodically } from '../../shared/timers.ts'

export interface CountersOptions {
  store: Store
  /** Unique for each run of a process. */
  node: string
  /** Milliseconds since 1970; by default the store's clock, on which the nodes agree. */
  clock?: () => number
  onError: (error: unknown) => void
  maintenanceMs?: number
}

/** After this time without use, a counter returns the rest of its allowance. */
const idleMs = 2000
/** After this time without use, an empty counter is dropped. */
const dropAfterMs = 120_000
const deleteExpiredEveryMs = 600_000
/** How long a locked row is left alone. */
export const lockedRowPauseMs = 100
/** How long to wait for a locked row or a response of the store before this node counts alone. */
const maxWaitMs = 2000
const waitSteps = 4

/**
 * Creates the counters of one node, kept in step with the store. Long because its short methods share private
 * state.
 */
export function createCounters (
  { store, node, clock = store.clock, onError, maintenanceMs = 1000 }: CountersOptions
) {
  const counters = new Map<string, LimitCounter>()
  const exchangeAllowances = createAllowanceExchange(store, node)
  const due = new Set<LimitCounter>()
  const idle = new Set<LimitCounter>()
  /** Counters whose rows other transactions keep locked; times of the monotonic clock. */
  const locked = new Map<LimitCounter, { sinceMs: number, retryAtMs: number }>()
  /** An exchange has had no response for `maxWaitMs`; no other begins before it ends. */
  let isStalled = false
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

  /** Locked counters stay due. */
  function takeDue (nowMs: number): Pending[] {
    const monotonicMs = performance.now()
    const pending: Pending[] = []
    for (const counter of due) {
      const request = counter.nextRequest(nowMs, idle.has(counter))
      if (request !== null && (locked.get(counter)?.retryAtMs ?? 0) > monotonicMs) {
        counter.takeBack(request)
        if (!isLocked(counter)) counter.continueAlone(nowMs)
        continue
      }
      due.delete(counter)
      idle.delete(counter)
      if (request === null) locked.delete(counter)
      else pending.push({ counter, request })
    }
    return pending
  }

  function isLocked (counter: LimitCounter): boolean {
    const since = locked.get(counter)
    return since !== undefined && performance.now() - since.sinceMs < maxWaitMs
  }

  function keepLocked (counter: LimitCounter): void {
    const nowMs = performance.now()
    const sinceMs = locked.get(counter)?.sinceMs ?? nowMs
    locked.set(counter, { sinceMs, retryAtMs: nowMs + lockedRowPauseMs })
    due.add(counter)
    if (!isLocked(counter)) counter.continueAlone(clock())
  }

  async function exchangeDue (): Promise<boolean> {
    const nowMs = clock()
    const pending = takeDue(nowMs)
    if (pending.length === 0) return true
    if (isStalled) {
      failed(pending)
      return false
    }
    const response = exchangeWithStore(pending, nowMs)
    if (await respondsInTime(response)) return await response
    isStalled = true
    response.finally(() => { isStalled = false })
    for (const { counter } of pending) counter.continueAlone(clock())
    return false
  }

  async function exchangeWithStore (pending: readonly Pending[], nowMs: number): Promise<boolean> {
    const counterOf = new Map(pending.map(({ counter, request }) => [request, counter]))
    try {
      for (const grant of await exchangeAllowances([...counterOf.keys()], nowMs)) {
        const counter = counterOf.get(grant.request)
        if (counter === undefined) continue
        counterOf.delete(grant.request)
        locked.delete(counter)
        counter.receive(grant, clock())
      }
    } catch (error) {
      failed(pending)
      if (!(error instanceof StoreUnavailable)) onError(error)
      return false
    }
    for (const [request, counter] of counterOf) {
      counter.takeBack(request)
      keepLocked(counter)
    }
    return true
  }

  function failed (pending: readonly Pending[]): void {
    for (const { counter, request } of pending) {
      counter.takeBack(request)
      counter.continueAlone(clock())
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
    /**
     * Exchanges due requests for grants, one exchange at a time. Resolves within `maxWaitMs` of its start;
     * false if the store did not respond.
     */
    exchange,
    /** Whether the row is locked, and this node does not yet count alone because of that. */
    isLocked,
    markDue (counter: LimitCounter): void { due.add(counter) },

    get (scope: string, kind: LimitKind, limit: number): LimitCounter {
      const id = idOf({ kind, scope })
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

interface Pending { counter: LimitCounter, request: AllowanceRequest }

/** Waits in steps, so that a pause of this process counts as one step and the response can still be read. */
async function respondsInTime (response: Promise<boolean>): Promise<boolean> {
  for (let step = 0; step < waitSteps; step++) {
    const waiting = new AbortController()
    const late = sleep(maxWaitMs / waitSteps, false, { signal: waiting.signal })
    const hasResponded = await Promise.race([response.then(() => true), late])
    waiting.abort()
    late.catch(() => {})
    if (hasResponded) return true
  }
  return false
}
