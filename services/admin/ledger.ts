import type { LedgerCheck } from '../../schemas/admin/ledger.ts'
import { checkLedger } from '../ledger/check.ts'
import type { Administration } from './administration.ts'

/** Checks that the books agree with themselves; nothing is changed. Throws StoreUnavailable. */
export async function checkBooks ({ store, flush }: Administration): Promise<LedgerCheck> {
  await flush()
  const violations = await checkLedger(store)
  return { object: 'ledger_check', ok: violations.length === 0, violations }
}
