import type { BalanceAt } from '../../../schemas/admin/books.ts'
import { sumPeriod } from '../../billing/ledger/books/account-periods.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'

/** Returns what an account had before a time in ms since 1970. Throws GatewayError 404, StoreUnavailable. */
export async function getBalanceAt (
  administration: Administration, id: string, at: number = administration.store.clock()
): Promise<BalanceAt> {
  await getAccount(administration, id)
  const sums = await sumPeriod(administration.store, { from: at, to: at }, [id])
  return {
    object: 'balance', account: id, at: isoTime(at), ...amountFields('balance', sums.get(id)?.openingNano ?? 0)
  }
}
