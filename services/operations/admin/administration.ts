import { gatewayActor } from '../../store/audit.ts'
import type { Keys } from '../../keys/keys.ts'
import type { Operator } from '../../keys/roles.ts'
import type { Accounts } from '../../billing/ledger/accounts.ts'
import { createCorrections, type Corrections } from '../../billing/ledger/corrections.ts'
import { createSuspense, type Suspense } from '../../billing/ledger/suspense.ts'
import { createTransfers, type Transfers } from '../../billing/ledger/transfers.ts'
import type { SecretBox } from '../../store/secret-box.ts'
import type { Store } from '../../store/store.ts'

/** The dependencies of the CLI and the admin API. */
export interface Administration {
  /** The actor of the changes. */
  actor: Operator
  store: Store
  secretBox: SecretBox
  keys: Keys
  accounts: Accounts
  corrections: Corrections
  suspense: Suspense
  transfers: Transfers
  /** Writes pending ledger entries of this process; called before the ledger is read. */
  flush (): Promise<void>
}

/** Creates the administration of one actor. Without a ledger, as in the CLI, there is nothing to flush. */
export function createAdministration (
  { actor = gateway, store, secretBox, keys, accounts, ledger }:
  Pick<Administration, 'store' | 'secretBox' | 'keys' | 'accounts'> &
  { actor?: Operator, ledger?: Pick<Administration, 'flush'> }
): Administration {
  return {
    actor,
    store,
    secretBox,
    keys,
    accounts,
    corrections: createCorrections(store),
    suspense: createSuspense(store),
    transfers: createTransfers(store),
    flush: async () => { await ledger?.flush() }
  }
}

const gateway: Operator = { ...gatewayActor, role: 'owner', account: null }
