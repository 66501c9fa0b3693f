import type { KeyRecord } from '../../keys/types.ts'
import type { AccountBalance } from '../../billing/ledger/ledger.ts'

type Balances = (account: string) => Promise<AccountBalance>

/** Returns what a key may still spend in integer nano-USD: the least available in its chain. */
export async function availableTo (key: KeyRecord, now: number, balance: Balances): Promise<number> {
  const balances = await Promise.all(key.chainAt(now).map(balance))
  return Math.max(0, Math.min(...balances.map(({ availableNano }) => availableNano)))
}

/**
 * Returns the spending limit of a key in integer nano-USD: the spending in the budget's current period or,
 * without a budget, of the account, plus the least remainder of account, parents and budget.
 */
export async function spendingLimit (key: KeyRecord, now: number, balance: Balances): Promise<number> {
  const balances = await Promise.all(key.chainAt(now).map(balance))
  const own = key.budget === null ? balances.at(0) : balances.at(-1)
  const left = balances.map(({ creditsNano, spentNano }) => creditsNano - spentNano)
  return Math.max(0, (own?.spentNano ?? 0) + Math.min(...left))
}
