import { StoreUnavailable } from '../../../store/store.ts'
import type {
  Batch, BoundedCharge, NodeContext, OpenHold, PendingReservation, Settlement, SuspenseReason
} from '../types.ts'
import { lockedPauseMs } from './locked-accounts.ts'
import { addPayers, type Write } from './writer.ts'

interface QueueContext extends Pick<NodeContext, 'options' | 'timers' | 'monotonic'> {
  /** Milliseconds since 1970. */
  clock: () => number
  write: Write
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
 * Reservations are written at once, because a request waits; settlements alone are collected for `flushMs`,
 * which passes also while the batch before is written. While the database is away, settlements are retried
 * with backoff and reservations refused. Settlements of locked accounts are parked, and tried again every
 * `lockedPauseMs`.
 */
export function createQueue ({ write, options, timers, monotonic, clock, onOutage }: QueueContext) {
  const batches: QueuedBatch[] = []
  let current: QueuedBatch | null = null
  /** Settlements that wait for locked accounts, and the payers of those that are booked in order. */
  let parked: QueuedBatch | null = null
  const parkedPayers = new Set<string>()
  let isParkedDue = false
  let cancelParked: (() => void) | null = null
  let draining: Promise<void> | null = null
  let stopped = false
  let hurried = false
  let touched = false
  let backoffMs = 0
  let outageSinceMs: number | null = null
  let timer: { delayMs: number, cancel: () => void } | null = null
  /** Whether the next batch has been collected for long enough while another one was written. */
  let isCollected = false

  function openBatch (): QueuedBatch {
    const last = batches.at(-1)
    if (last !== undefined && !isFull(last)) return last
    const batch = newBatch(clock())
    batches.push(batch)
    return batch
  }

  const isFull = ({ size, reservations }: QueuedBatch) => size + reservations.length >= options.batchSize
  const isUrgent = (batch: QueuedBatch) => batch.reservations.length > 0 || isFull(batch)

  const isDue = () =>
    isParkedDue || batches.some(isUrgent) || (batches.length > 0 && (hurried || isCollected))

  function wake (delayMs: number): void {
    // After a failure, the time of the next attempt stands.
    if (queue.outage === null) wakeIn(delayMs)
  }

  function wakeIn (delayMs: number): void {
    if (stopped || (timer !== null && timer.delayMs <= delayMs)) return
    timer?.cancel()
    const begin = () => {
      timer = null
      isCollected = true
      draining ??= drain().finally(() => { draining = null })
    }
    timer = { delayMs, cancel: timers.after(delayMs, begin) }
  }

  /** Never rejects: failures reject the promises of their batch. */
  async function drain (): Promise<void> {
    if (current !== null) return
    do {
      const goesOn = !isParkedDue || await attemptParked()
      if (goesOn) await attemptNext()
    } while (queue.outage === null && isDue())
    if (queue.outage !== null) return wakeIn(backoffMs)
    hurried = false
    if (batches.length > 0 || touched) wakeIn(options.flushMs)
  }

  async function attemptNext (): Promise<void> {
    openBatch()
    current = batches.shift() ?? null
    touched = false
    isCollected = false
    timer?.cancel()
    timer = null
    if (current !== null) await attempt(current)
    current = null
  }

  async function attempt (batch: QueuedBatch): Promise<void> {
    try {
      end(batch, await write(batch, parkedPayers))
    } catch (error) {
      return postpone(batch, error instanceof StoreUnavailable ? error : new StoreUnavailable(error, { problem: 'refused' }))
    }
    queue.outage = null
    outageSinceMs = null
    backoffMs = 0
  }

  function end (batch: QueuedBatch, waiting: readonly Settlement[]): void {
    queue.unflushed -= batch.size - waiting.length
    batch.done.resolve(waiting.length === 0 ? undefined : park(waiting))
    batch.attempt.resolve()
  }

  /** Resolves once they are written. */
  function park (waiting: readonly Settlement[]): Promise<void> {
    parked ??= newBatch(null)
    for (const settlement of waiting) parked.settlements.push(settlement)
    parked.size += waiting.length
    addPayers(parkedPayers, waiting)
    cancelParked ??= timers.after(lockedPauseMs, () => {
      cancelParked = null
      isParkedDue = true
      wake(0)
    })
    return parked.done.promise
  }

  /** What is parked is older than all batches. Returns false if the database is away. */
  async function attemptParked (): Promise<boolean> {
    isParkedDue = false
    if (parked === null) return true
    current = parked
    const { size } = parked
    parked = null
    parkedPayers.clear()
    await attempt(current)
    current = null
    // There were more than one batch may have.
    isParkedDue = sizeOf(parked) > 0 && sizeOf(parked) < size
    return queue.outage === null
  }

  function postpone (batch: QueuedBatch, outage: StoreUnavailable): void {
    batches.unshift(batch)
    queue.outage = outage
    outageSinceMs ??= monotonic()
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

    /** For how long the database cannot be written; 0 while it can. */
    get outageMs () { return outageSinceMs === null ? 0 : monotonic() - outageSinceMs },

    get waiting () {
      const inProgress = current?.reservations.length ?? 0
      return batches.reduce((sum, { reservations }) => sum + reservations.length, inProgress)
    },

    /**
     * Ends a hold; without a charge, it is released, and with a reason the charge goes to suspense. The
     * entry's time is when its batch was opened; after a failure, when `settle` was called. Resolves once
     * its batch is on disk, however long that takes.
     */
    settle (
      hold: OpenHold, charge: BoundedCharge | null, suspended: SuspenseReason | null = null
    ): Promise<void> {
      const batch = openBatch()
      const at = batch.at ?? clock()
      batch.settlements.push({ hold, sequence: sequenceFor(hold), charge, at, suspended })
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

    /** Throws StoreUnavailable when the next attempt fails. What waits for locked accounts may be left. */
    async flush (): Promise<void> {
      if (stopped) return
      isParkedDue = parked !== null
      const last = batches.at(-1) ?? (touched || isParkedDue ? openBatch() : current)
      if (last === null) return
      const { promise } = last.attempt
      hurried = true
      if (current === null) wakeIn(0)
      await promise
    },

    /** Waits for the batch in progress, the last one written, and returns the settlements that are left. */
    async stop (): Promise<readonly Settlement[]> {
      stopped = true
      timer?.cancel()
      cancelParked?.()
      await draining
      return [...parked?.settlements ?? [], ...batches.flatMap(({ settlements }) => settlements)]
    }
  }
  return queue
}

function sequenceFor ({ fresh, grant }: OpenHold): number {
  return fresh && grant !== null ? ++grant.term.lastSequence : 0
}

function newBatch (at: number | null): QueuedBatch {
  return { at, settlements: [], reservations: [], size: 0, done: newOutcome(), attempt: newOutcome() }
}

function sizeOf (batch: QueuedBatch | null): number {
  return batch?.size ?? 0
}

function newOutcome (): PromiseWithResolvers<void> {
  const outcome = Promise.withResolvers<void>()
  // Awaiting it is optional, and a rejection must not end the process.
  outcome.promise.catch(() => {})
  return outcome
}
