import type { Accounts } from '../billing/ledger/accounts.ts'
import type { Store } from '../store/store.ts'
import type { Keys } from './keys.ts'

const account = 'default'

/**
 * In an empty store, creates the account `default` with its starting credit and a first key, and returns the
 * key; null if any key exists. The key cannot be shown again, so call this last before showing it. Throws
 * StoreUnavailable, RangeError for an unsafe amount.
 */
export async function bootstrap (
  { store, keys, accounts, startingCreditNano }:
  { store: Store, keys: Keys, accounts: Accounts, startingCreditNano: number }
): Promise<{ key: string } | null> {
  if (await keys.exist()) return null
  return await store.transaction(async (queries) => {
    await accounts.create({ id: account, name: 'Default' }, queries)
    await accounts.lock(account, queries)
    // Another process may have created a key before this one held the lock.
    if (await keys.exist(queries)) return null
    if (startingCreditNano > 0) {
      await accounts.deposit({ id: 'starting-credit', account, amountNano: startingCreditNano }, queries)
    }
    const { key } = await keys.create({ account, label: 'first key' }, queries)
    return { key }
  })
}
