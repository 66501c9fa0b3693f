import type { Keys } from '../keys/keys.ts'
import type { Accounts } from '../ledger/accounts.ts'
import { createCorrections, type Corrections } from '../ledger/corrections.ts'
import type { Store } from '../store/store.ts'

/** What the CLI and the admin API operate on. */
export interface Administration {
  store: Store
  keys: Keys
  accounts: Accounts
  corrections: Corrections
  /** Writes pending ledger entries of this process; called before the ledger is read. */
  flush (): Promise<void>
}

/** Creates an administration. Without a ledger, as in the CLI, there is nothing to flush. */
export function createAdministration (
  { store, keys, accounts, ledger }:
  Pick<Administration, 'store' | 'keys' | 'accounts'> & { ledger?: Pick<Administration, 'flush'> }
): Administration {
  return {
    store,
    keys,
    accounts,
    corrections: createCorrections(store),
    flush: async () => { await ledger?.flush() }
  }
}
