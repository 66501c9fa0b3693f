import type { Batch } from '../types.ts'

/** A batch on its way to the database. */
export interface QueuedBatch extends Batch {
  /** The time of its settlements; null after a failure. */
  at: number | null
  /** How many settlements it had when it was last attempted; fewer may be left. */
  size: number
  readonly done: PromiseWithResolvers<void>
  /** Resolves or rejects with the next attempt to write it. */
  attempt: PromiseWithResolvers<void>
}

/** Returns an empty batch whose settlements have a time in ms since 1970, or each its own. */
export function newBatch (at: number | null): QueuedBatch {
  return { at, settlements: [], reservations: [], size: 0, done: newOutcome(), attempt: newOutcome() }
}

/** Returns a promise that may be rejected without anybody awaiting it. */
export function newOutcome (): PromiseWithResolvers<void> {
  const outcome = Promise.withResolvers<void>()
  outcome.promise.catch(() => {})
  return outcome
}
