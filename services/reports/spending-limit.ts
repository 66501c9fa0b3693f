import type { KeyRecord } from '../keys/types.ts'
import type { AccountBalance } from '../ledger/ledger.ts'

/**
 * Returns what a key may spend in all, in integer nano-USD: what was spent so far, plus the least that is
 * left of its account, the accounts above and its own budget. For a key with a budget what was spent is
 * counted by that, in the present period; for every other one by its account. Throws what `balance` throws,
 * which reads an account.
 */
export async function spendingLimit (
  key: KeyRecord, now: number, balance: (account: string) => Promise<AccountBalance>
): Promise<number> {
  const balances = await Promise.all(key.chainAt(now).map(balance))
  const own = key.budget === null ? balances.at(0) : balances.at(-1)
  const left = balances.map(({ creditsNano, spentNano }) => creditsNano - spentNano)
  return Math.max(0, (own?.spentNano ?? 0) + Math.min(...left))
}
