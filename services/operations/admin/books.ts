import type { BalanceAt } from '../../../schemas/admin/books.ts'
import { lastEntryNow, sumsBefore } from '../../billing/ledger/books/balances.ts'
import { balanceOf, noSums } from '../../billing/ledger/books/sums.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'

/** Returns what an account had before a time in ms since 1970. Throws GatewayError 404, StoreUnavailable. */
export async function getBalanceAt (
  administration: Administration, id: string, at: number = administration.store.clock()
): Promise<BalanceAt> {
  const { store } = administration
  await getAccount(administration, id)
  const sums = await sumsBefore(store, await lastEntryNow(store), at, [id])
  return {
    object: 'balance', account: id, at: isoTime(at), ...amountFields('balance', balanceOf(sums.get(id) ?? noSums))
  }
}
