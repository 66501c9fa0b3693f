import { StoreUnavailable } from '../../../store/store.ts'
import type {
  BoundedCharge, NodeContext, OpenHold, PendingReservation, Settlement, SuspenseReason
} from '../types.ts'
import { ParkedSettlements } from './parked-settlements.ts'
import { newBatch, newOutcome, type QueuedBatch } from './queued-batch.ts'
import type { Write } from './writer.ts'

interface QueueContext extends Pick<NodeContext, 'options' | 'timers' | 'monotonic'> {
  /** Milliseconds since 1970. */
  clock: () => number
  write: Write
  onOutage (outage: StoreUnavailable): void
}

const firstBackoffMs = 25
const maxBackoffMs = 500

export type Queue = Pick<CommitQueue, keyof CommitQueue>

/** Creates the queue in front of the database. */
export function createQueue (context: QueueContext): Queue {
  return new CommitQueue(context)
}

/**
 * The queue in front of the database. It writes one batch after the other; what arrives meanwhile makes up
 * the next one.
 *
 *     idle ── settle, reserve, touch ──▶ collecting ── due ──▶ writing ── StoreUnavailable ──▶ away
 *       ▲                                   ▲                   │  │  ▲                          │
 *       └────────── nothing is left ────────┼───────────────────┘  │  └───── backoff is over ────┘
 *                                           └───── more arrived ───┘
 *
 * A batch is due at once with a reservation, because a request waits for it, or when it is full; settlements
 * alone are collected for `flushMs`, which passes also while the batch before is written. While the database
 * is away, settlements stay in their batches and reservations are rejected. Settlements of locked accounts
 * are parked, and tried again before the next batch: what is parked is older than all batches.
 */
class CommitQueue {
  readonly #context: QueueContext
  readonly #batches: QueuedBatch[] = []
  readonly #parked: ParkedSettlements
  /** The batch that is being written. */
  #current: QueuedBatch | null = null
  #draining: Promise<void> | null = null
  #timer: { delayMs: number, cancel: () => void } | null = null
  /** Whether the next batch has been collected for long enough while another one was written. */
  #isCollected = false
  /** A flush waits for all batches. */
  #isHurried = false
  /** Dirty allowances are to be written, with or without a batch. */
  #isTouched = false
  #isStopped = false
  #backoffMs = 0
  #outageSinceMs: number | null = null
  #outage: StoreUnavailable | null = null
  #unflushed = 0

  constructor (context: QueueContext) {
    this.#context = context
    this.#parked = new ParkedSettlements({ timers: context.timers, onDue: () => this.#wake(0) })
  }

  /** Settlements not known to be on disk. */
  get unflushed (): number { return this.#unflushed }

  /** Why the database cannot be written at the moment; null while it can. */
  get outage (): StoreUnavailable | null { return this.#outage }

  /** For how long the database cannot be written; 0 while it can. */
  get outageMs (): number {
    return this.#outageSinceMs === null ? 0 : this.#context.monotonic() - this.#outageSinceMs
  }

  /** Reservations in all batches. */
  get waiting (): number {
    const inProgress = this.#current?.reservations.length ?? 0
    return this.#batches.reduce((sum, { reservations }) => sum + reservations.length, inProgress)
  }

  /**
   * Ends a hold; without a charge, it is released, and with a reason the charge goes to suspense. The entry's
   * time is when its batch was opened; after a failure, when `settle` was called. Resolves once its batch is
   * on disk, however long that takes.
   */
  settle (
    hold: OpenHold, charge: BoundedCharge | null, suspended: SuspenseReason | null = null
  ): Promise<void> {
    const batch = this.#openBatch()
    const at = batch.at ?? this.#context.clock()
    batch.settlements.push({ hold, sequence: sequenceFor(hold), charge, at, suspended })
    batch.size++
    this.#unflushed++
    this.#wake(this.#isFull(batch) ? 0 : this.#context.options.flushMs)
    return batch.done.promise
  }

  reserve (reservation: PendingReservation): void {
    this.#openBatch().reservations.push(reservation)
    this.#wake(0)
  }

  /** Has dirty allowances written, which are no part of a batch. */
  touch (): void {
    this.#isTouched = true
    this.#wake(this.#context.options.flushMs)
  }

  /** Throws StoreUnavailable when the next attempt fails. What waits for locked accounts may be left. */
  async flush (): Promise<void> {
    if (this.#isStopped) return
    this.#parked.isDue = this.#parked.size > 0
    const isAnyLeft = this.#isTouched || this.#parked.isDue
    const last = this.#batches.at(-1) ?? (isAnyLeft ? this.#openBatch() : this.#current)
    if (last === null) return
    const { promise } = last.attempt
    this.#isHurried = true
    if (this.#current === null) this.#wakeIn(0)
    await promise
  }

  /** Waits for the batch in progress, the last one written, and returns the settlements that are left. */
  async stop (): Promise<readonly Settlement[]> {
    this.#isStopped = true
    this.#timer?.cancel()
    this.#parked.stop()
    await this.#draining
    return [...this.#parked.settlements, ...this.#batches.flatMap(({ settlements }) => settlements)]
  }

  #openBatch (): QueuedBatch {
    const last = this.#batches.at(-1)
    if (last !== undefined && !this.#isFull(last)) return last
    const batch = newBatch(this.#context.clock())
    this.#batches.push(batch)
    return batch
  }

  #isFull ({ size, reservations }: QueuedBatch): boolean {
    return size + reservations.length >= this.#context.options.batchSize
  }

  #isDue (): boolean {
    if (this.#parked.isDue) return true
    if (this.#batches.length > 0 && (this.#isHurried || this.#isCollected)) return true
    return this.#batches.some(batch => batch.reservations.length > 0 || this.#isFull(batch))
  }

  #wake (delayMs: number): void {
    // After a failure, the time of the next attempt stands.
    if (this.#outage === null) this.#wakeIn(delayMs)
  }

  #wakeIn (delayMs: number): void {
    if (this.#isStopped || (this.#timer !== null && this.#timer.delayMs <= delayMs)) return
    this.#timer?.cancel()
    const begin = () => {
      this.#timer = null
      this.#isCollected = true
      this.#draining ??= this.#drain().finally(() => { this.#draining = null })
    }
    this.#timer = { delayMs, cancel: this.#context.timers.after(delayMs, begin) }
  }

  /** Writes until nothing is due. Never rejects: failures reject the promises of their batch. */
  async #drain (): Promise<void> {
    if (this.#current !== null) return
    do {
      if (await this.#writeParked()) await this.#writeNext()
    } while (this.#outage === null && this.#isDue())
    if (this.#outage !== null) return this.#wakeIn(this.#backoffMs)
    this.#isHurried = false
    if (this.#batches.length > 0 || this.#isTouched) this.#wakeIn(this.#context.options.flushMs)
  }

  /** Returns false if the database is away. */
  async #writeParked (): Promise<boolean> {
    const parked = this.#parked
    if (!parked.isDue) return true
    const batch = parked.take()
    if (batch === null) return true
    const { size } = batch
    await this.#write(batch)
    // There were more than one batch may have.
    parked.isDue = parked.size > 0 && parked.size < size
    return this.#outage === null
  }

  async #writeNext (): Promise<void> {
    this.#openBatch()
    this.#isTouched = false
    this.#isCollected = false
    this.#timer?.cancel()
    this.#timer = null
    const batch = this.#batches.shift()
    if (batch !== undefined) await this.#write(batch)
  }

  async #write (batch: QueuedBatch): Promise<void> {
    this.#current = batch
    try {
      this.#end(batch, await this.#context.write(batch, this.#parked.payers))
      this.#outage = null
      this.#outageSinceMs = null
      this.#backoffMs = 0
    } catch (error) {
      const isAway = error instanceof StoreUnavailable
      this.#postpone(batch, isAway ? error : new StoreUnavailable(error, { problem: 'refused' }))
    } finally {
      this.#current = null
    }
  }

  #end (batch: QueuedBatch, waiting: readonly Settlement[]): void {
    this.#unflushed -= batch.size - waiting.length
    batch.done.resolve(waiting.length === 0 ? undefined : this.#parked.add(waiting))
    batch.attempt.resolve()
  }

  #postpone (batch: QueuedBatch, outage: StoreUnavailable): void {
    this.#batches.unshift(batch)
    this.#outage = outage
    this.#outageSinceMs ??= this.#context.monotonic()
    this.#isHurried = false
    this.#backoffMs = Math.min(maxBackoffMs, Math.max(firstBackoffMs, this.#backoffMs * 2))
    this.#context.onOutage(outage)
    for (const each of this.#batches) {
      each.at = null
      for (const reservation of each.reservations.splice(0)) reservation.refused(outage)
      each.attempt.reject(outage)
      each.attempt = newOutcome()
    }
  }
}

function sequenceFor ({ fresh, grant }: OpenHold): number {
  return fresh && grant !== null ? ++grant.term.lastSequence : 0
}
