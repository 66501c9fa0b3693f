import type { Store } from '../../../store/store.ts'
import { AccountLocked } from '../errors.ts'
import type { NodeAllowance } from '../node-allowance.ts'
import type { Statements } from '../sql/statements.ts'
import type { Batch, PendingReservation, Settlement } from '../types.ts'

/** What of a batch may be written now, and what becomes of the rest. */
export interface WritablePart {
  batch: Batch
  dirty: readonly NodeAllowance[]
  waiting: Settlement[]
  refused: { reservation: PendingReservation, error: AccountLocked }[]
  /** Nothing may be written now. */
  isEmpty: boolean
}

interface LockedAccountsContext {
  store: Store
  statements: Statements
  monotonic: () => number
  /** The most settlements in one part. */
  batchSize: number
}

/** How long a locked account is left alone. */
export const lockedPauseMs = 25

/**
 * Creates the accounts that other transactions keep locked. A commit leaves them out, and checks from time to
 * time, without waiting, whether they are free, so that no other account is delayed.
 */
export function createLockedAccounts ({ store, statements, monotonic, batchSize }: LockedAccountsContext) {
  /** By account, when to check again. */
  const locked = new Map<string, number>()

  async function forgetUnlocked (): Promise<void> {
    const nowMs = monotonic()
    const due = [...locked].flatMap(([account, askAtMs]) => askAtMs <= nowMs ? [account] : [])
    if (due.length === 0) return
    for (const account of due) locked.set(account, nowMs + lockedPauseMs)
    for (const account of await statements.unlockedOf(store, due)) locked.delete(account)
  }

  const lockedIn = (chain: readonly string[]) => chain.find(account => locked.has(account))

  return {
    add (accounts: readonly string[]): void {
      for (const account of accounts) locked.set(account, monotonic() + lockedPauseMs)
    },

    /** Throws StoreUnavailable. */
    async divide (
      batch: Batch, dirty: readonly NodeAllowance[], waitingPayers: ReadonlySet<string>
    ): Promise<WritablePart> {
      if (locked.size > 0) await forgetUnlocked()
      const { settlements, reservations } = batch
      if (locked.size === 0 && waitingPayers.size === 0 && settlements.length <= batchSize) {
        return { batch, dirty, waiting: [], refused: [], isEmpty: false }
      }
      const part: WritablePart & { batch: Batch } = {
        batch: { settlements: [], reservations: [] },
        dirty: dirty.filter(({ account }) => !locked.has(account)),
        waiting: [],
        refused: [],
        isEmpty: false
      }
      const payers = new Set(waitingPayers)
      for (const settlement of settlements) {
        const { sequence, hold: { chain } } = settlement
        const [payer = ''] = chain
        const isBehind = part.batch.settlements.length === batchSize || (sequence > 0 && payers.has(payer))
        if (!isBehind && lockedIn(chain) === undefined) {
          part.batch.settlements.push(settlement)
          continue
        }
        part.waiting.push(settlement)
        if (sequence > 0) payers.add(payer)
      }
      for (const reservation of reservations) {
        const account = lockedIn(reservation.chain)
        if (account === undefined) part.batch.reservations.push(reservation)
        else part.refused.push({ reservation, error: new AccountLocked(account) })
      }
      const { batch: { settlements: { length }, reservations: { length: reserved } } } = part
      part.isEmpty = length + reserved + part.dirty.length === 0
      return part
    }
  }
}
