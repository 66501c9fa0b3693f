import type { Store } from '../../../store/store.ts'
import { findLastEntry } from '../check/last-entry.ts'
import { sumChainDays } from './chain-days.ts'
import { combined, sumMovements, type SumsByAccount } from './sums.ts'

type Reader = Pick<Store, 'engine' | 'reports'>

/**
 * Returns what some accounts have come to by the entries before a time, in ms since 1970, and up to
 * `lastEntry`, from the sums of days. Throws StoreUnavailable.
 */
export async function sumsBefore (
  store: Reader, lastEntry: number, before: number, accounts: readonly string[]
): Promise<SumsByAccount> {
  const selection = { accounts, before, until: lastEntry }
  return combined(await sumMovements(store, selection), await sumChainDays(store, selection))
}

/** Returns the number of the last entry: entries that are booked later change nothing up to it. */
export async function lastEntryNow (store: Reader): Promise<number> {
  return (await findLastEntry(store)).seq
}
