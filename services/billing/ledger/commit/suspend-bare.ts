import { StoreUnavailable, type Store } from '../../../store/store.ts'
import { createStatements } from '../sql/statements.ts'
import { chainId, type Settlement } from '../types.ts'
import type { EntryRow } from '../sql/rows.ts'
import { usageKey } from './postings.ts'

/** Returns the entries that were booked: none if the amount is zero, or was booked before. */
export type SuspendBare = (settlement: Settlement) => Promise<readonly EntryRow[]>

/**
 * Creates the last resort for a charge that the database rejects in every other form: an entry in suspense
 * with nothing but the amount, the hold, the key and the accounts, and no other change. If even that is
 * rejected, the fault is not this charge's: throws StoreUnavailable.
 */
export function createSuspendBare (store: Store): SuspendBare {
  const statements = createStatements(store.engine)
  return async ({ hold, charge, at }) => {
    const amount = charge?.posting.amountNano ?? 0
    if (amount === 0) return []
    const key = usageKey(hold.id)
    const entry: EntryRow = {
      idempotency_key: key,
      at,
      debit: 'suspense',
      credit: 'revenue',
      amount,
      kind: 'suspense',
      ref: hold.id,
      model: 'unknown',
      provider: null,
      usage: '{}',
      estimated: 0,
      hold: null,
      api_key: hold.key,
      chain: chainId(hold.chain),
      reason: 'rejected'
    }
    try {
      const booked = await statements.readBooked(store, [key])
      if (booked.has(key)) return []
      await statements.insertEntries(store, [entry])
      return [entry]
    } catch (error) {
      throw error instanceof StoreUnavailable ? error : new StoreUnavailable(error, { problem: 'refused' })
    }
  }
}
