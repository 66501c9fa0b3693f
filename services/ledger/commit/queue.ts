import { StoreUnavailable } from '../../store/store.ts'
import type { Batch, BoundedCharge, NodeContext, OpenHold, PendingReservation } from '../types.ts'

interface QueueContext extends Pick<NodeContext, 'options' | 'timers'> {
  /** Milliseconds since 1970. */
  clock: () => number
  /**
   * Commits a batch, removing from it what is done. Throws StoreUnavailable when the rest has to be tried
   * again, another error when some of it never can be written.
   */
  write (batch: Batch): Promise<void>
  onOutage (outage: StoreUnavailable): void
}

interface QueuedBatch extends Batch {
  /** The time of its settlements; null after a failure. */
  at: number | null
  size: number
  readonly done: PromiseWithResolvers<void>
  /** Resolves or rejects with the next attempt to write it. */
  attempt: PromiseWithResolvers<void>
}

const firstBackoffMs = 25
const maxBackoffMs = 500

export type Queue = Readonly<ReturnType<typeof createQueue>>

/**
 * Creates the queue in front of the database. What arrives while a batch is written makes up the next one.
 * Reservations are written at once, because a request waits; settlements alone are collected for `flushMs`.
 * While the database is away, settlements are retried with backoff and reservations refused.
 */
export function createQueue ({ write, options, timers, clock, onOutage }: QueueContext) {
  const batches: QueuedBatch[] = []
  let current: QueuedBatch | null = null
  let draining: Promise<void> | null = null
  let stopped = false
  let hurried = false
  let touched = false
  let backoffMs = 0
  let timer: { delayMs: number, cancel: () => void } | null = null

  function openBatch (): QueuedBatch {
    const last = batches.at(-1)
    if (last !== undefined && !isFull(last)) return last
    const batch = {
      at: clock(), settlements: [], reservations: [], size: 0, done: newOutcome(), attempt: newOutcome()
    }
    batches.push(batch)
    return batch
  }

  const isFull = ({ size, reservations }: QueuedBatch) => size + reservations.length >= options.batchSize
  const isUrgent = (batch: QueuedBatch) => batch.reservations.length > 0 || isFull(batch)

  const isDue = () => batches.some(isUrgent) || (hurried && batches.length > 0)

  function wake (delayMs: number): void {
    // After a failure, the time of the next attempt stands.
    if (current === null && queue.outage === null) wakeIn(delayMs)
  }

  function wakeIn (delayMs: number): void {
    if (stopped || (timer !== null && timer.delayMs <= delayMs)) return
    timer?.cancel()
    const begin = () => {
      timer = null
      draining ??= drain().finally(() => { draining = null })
    }
    timer = { delayMs, cancel: timers.after(delayMs, begin) }
  }

  /** Never rejects: failures reject the promises of their batch. */
  async function drain (): Promise<void> {
    if (current !== null) return
    do {
      openBatch()
      current = batches.shift() ?? null
      touched = false
      if (current !== null) await attempt(current)
      current = null
    } while (queue.outage === null && isDue())
    if (queue.outage !== null) return wakeIn(backoffMs)
    hurried = false
    if (batches.length > 0 || touched) wakeIn(options.flushMs)
  }

  async function attempt (batch: QueuedBatch): Promise<void> {
    try {
      await write(batch)
      batch.done.resolve()
      batch.attempt.resolve()
    } catch (error) {
      if (error instanceof StoreUnavailable) return postpone(batch, error)
      batch.done.reject(error)
      batch.attempt.reject(error)
    }
    queue.unflushed -= batch.size
    queue.outage = null
    backoffMs = 0
  }

  function postpone (batch: QueuedBatch, outage: StoreUnavailable): void {
    batches.unshift(batch)
    queue.outage = outage
    hurried = false
    backoffMs = Math.min(maxBackoffMs, Math.max(firstBackoffMs, backoffMs * 2))
    onOutage(outage)
    for (const each of batches) {
      each.at = null
      for (const reservation of each.reservations.splice(0)) reservation.refused(outage)
      each.attempt.reject(outage)
      each.attempt = newOutcome()
    }
  }

  const queue = {
    /** Settlements not known to be on disk. */
    unflushed: 0,
    /** Why the database cannot be written at the moment; null while it can. */
    outage: null as StoreUnavailable | null,

    get waiting () {
      const inProgress = current?.reservations.length ?? 0
      return batches.reduce((sum, { reservations }) => sum + reservations.length, inProgress)
    },

    /**
     * Ends a hold; without a charge, it is released. The entry's time is when its batch was opened; after a
     * failure, when `settle` was called. Resolves once it is on disk, however long the database is away;
     * rejects if it never can be.
     */
    settle (hold: OpenHold, charge: BoundedCharge | null): Promise<void> {
      const batch = openBatch()
      const at = batch.at ?? clock()
      batch.settlements.push({ hold, sequence: sequenceFor(hold), charge, at, suspended: null })
      batch.size++
      queue.unflushed++
      wake(isFull(batch) ? 0 : options.flushMs)
      return batch.done.promise
    },

    reserve (reservation: PendingReservation): void {
      openBatch().reservations.push(reservation)
      wake(0)
    },

    /** Has dirty allowances written, which are no part of a batch. */
    touch (): void {
      touched = true
      wake(options.flushMs)
    },

    /** Throws StoreUnavailable when the next attempt fails. */
    async flush (): Promise<void> {
      if (stopped) return
      const last = batches.at(-1) ?? (touched ? openBatch() : current)
      if (last === null) return
      const { promise } = last.attempt
      hurried = true
      if (current === null) wakeIn(0)
      await promise
    },

    /** Waits for the batch in progress, the last one written. */
    async stop (): Promise<void> {
      stopped = true
      timer?.cancel()
      await draining
    }
  }
  return queue
}

function sequenceFor ({ fresh, grant }: OpenHold): number {
  return fresh && grant !== null ? ++grant.term.lastSequence : 0
}

function newOutcome (): PromiseWithResolvers<void> {
  const outcome = Promise.withResolvers<void>()
  // Awaiting it is optional, and a rejection must not end the process.
  outcome.promise.catch(() => {})
  return outcome
}
