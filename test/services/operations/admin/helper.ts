import type { Test } from 'tap'
import { createKeys } from '../../../../services/keys/keys.ts'
import { createAccounts } from '../../../../services/billing/ledger/accounts.ts'
import { createLedger } from '../../../../services/billing/ledger/create.ts'
import { entryIdSql } from '../../../../services/billing/ledger/entry-id.ts'
import type { Ledger, Posting } from '../../../../services/billing/ledger/ledger.ts'
import { createAdministration } from '../../../../services/operations/admin/administration.ts'
import type { Administration } from '../../../../services/operations/admin/administration.ts'
import type { Store } from '../../../../services/store/store.ts'
import { secretBox } from '../../../helpers/secret-box.ts'

/** An administration next to a gateway that serves requests from the same store. */
export interface TestAdministration extends Administration {
  ledger: Ledger
  /** Charges a request of a key, in nano-USD, and returns the id of its entry. */
  spend (request: Spending): Promise<string>
}

interface Spending extends Partial<Omit<Posting, 'model' | 'usage'>> {
  account: string
  key: string
  amountNano: number
  model?: string
  usage?: Record<string, number>
}

/** Opens an administration of a store; the ledger is closed when the test ends. */
export async function openAdministration (t: Test, store: Store): Promise<TestAdministration> {
  const ledger = createLedger({ store })
  t.teardown(() => ledger.close())
  const [keys, accounts] = [createKeys(store), createAccounts(store)]
  const actor = { id: 'cli:tester', label: null, role: 'owner', account: null } as const
  const administration = createAdministration({ actor, store, secretBox, keys, accounts, ledger })
  let requests = 0
  return {
    ...administration,
    ledger,
    async spend ({ account, key, amountNano, model = 'chat', usage = { prompt: 3, completion: 5 }, ...more }) {
      const id = `request-${++requests}`
      const hold = await ledger.reserve({ id, chain: [account], key, amountNano, fresh: true })
      await hold.settle({ amountNano, ref: id, model, usage, estimated: false, ...more })
      const row = await store.get<{ id: string }>(`select ${entryIdSql()} as id from entry where ref = $1`, [id])
      return row?.id ?? ''
    }
  }
}

/** The error of a refused operation. */
export function refusal (details: { status: number, param?: string, code?: string }) {
  return { name: 'GatewayError', ...details }
}
