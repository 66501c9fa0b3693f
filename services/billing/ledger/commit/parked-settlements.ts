import type { NodeContext, Settlement } from '../types.ts'
import { lockedPauseMs } from './locked-accounts.ts'
import { newBatch, type QueuedBatch } from './queued-batch.ts'
import { addPayers } from './writer.ts'

interface ParkedContext extends Pick<NodeContext, 'timers'> {
  /** Called once settlements may be tried again. */
  onDue (): void
}

/**
 * Settlements that wait for accounts that other transactions keep locked. `lockedPauseMs` after the first one
 * is parked, all of them are due.
 */
export class ParkedSettlements {
  readonly #context: ParkedContext
  #batch: QueuedBatch | null = null
  #cancel: (() => void) | null = null
  /** Those whose later settlements wait too, because they are booked in order. */
  readonly payers = new Set<string>()
  isDue = false

  constructor (context: ParkedContext) {
    this.#context = context
  }

  get size (): number { return this.#batch?.size ?? 0 }

  get settlements (): readonly Settlement[] { return this.#batch?.settlements ?? [] }

  /** Resolves once the settlements are written. */
  add (waiting: readonly Settlement[]): Promise<void> {
    this.#batch ??= newBatch(null)
    for (const settlement of waiting) this.#batch.settlements.push(settlement)
    this.#batch.size += waiting.length
    addPayers(this.payers, waiting)
    this.#cancel ??= this.#context.timers.after(lockedPauseMs, () => {
      this.#cancel = null
      this.isDue = true
      this.#context.onDue()
    })
    return this.#batch.done.promise
  }

  /** Takes them all to be tried again. */
  take (): QueuedBatch | null {
    const batch = this.#batch
    this.isDue = false
    this.#batch = null
    this.payers.clear()
    return batch
  }

  stop (): void {
    this.#cancel?.()
  }
}
