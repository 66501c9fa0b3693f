import type { Keys } from '../keys/keys.ts'
import type { Accounts } from '../ledger/accounts.ts'
import { createCorrections } from '../ledger/corrections.ts'
import type { Corrections } from '../ledger/corrections.ts'
import type { Store } from '../store/store.ts'

/** What operators work with, at the command line and over HTTP alike. */
export interface Administration {
  store: Store
  keys: Keys
  accounts: Accounts
  corrections: Corrections
  /** Brings to the books what this process has in memory; called before they are read. */
  flush (): Promise<void>
}

/** Puts an administration together. A process that serves no requests has nothing to flush. */
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
