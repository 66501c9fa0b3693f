import type { Accounts } from '../ledger/accounts.ts'
import type { Store } from '../store/store.ts'
import type { Keys } from './keys.ts'

export interface BootstrapOptions {
  store: Store
  keys: Keys
  accounts: Accounts
  /** Integer nano-USD; 0 gives none. */
  startingCreditNano: number
}

const account = 'default'

/**
 * Creates, at the first start, the account `default` with its starting credit and a first key, all or
 * nothing. Returns the key, which is not kept; null when any key exists, so that several processes that start
 * at once create one. Throws StoreUnavailable, RangeError for an unsafe amount.
 */
export async function bootstrap (
  { store, keys, accounts, startingCreditNano }: BootstrapOptions
): Promise<{ key: string } | null> {
  if (await keys.exist()) return null
  return await store.transaction(async (queries) => {
    await accounts.create({ id: account, name: 'Default' }, queries)
    await accounts.lock(account, queries)
    // Asked again behind the lock: another process may have been faster.
    if (await keys.exist(queries)) return null
    if (startingCreditNano > 0) {
      await accounts.deposit({ id: 'starting-credit', account, amountNano: startingCreditNano }, queries)
    }
    const { key } = await keys.create({ account, label: 'first key' }, queries)
    return { key }
  })
}
