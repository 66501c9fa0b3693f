import type { BalanceAt, BooksMonth, BooksMonthList } from '../../../schemas/admin/books.ts'
import { sumsBefore, viewBooks } from '../../billing/ledger/books/balances.ts'
import { closeMonth } from '../../billing/ledger/books/close-month.ts'
import { readClosedMonths, type ClosedMonth } from '../../billing/ledger/books/months.ts'
import { balanceOf, noSums } from '../../billing/ledger/books/sums.ts'
import { entryId } from '../../billing/ledger/entry-id.ts'
import { isoTime } from '../../shared/iso-time.ts'
import { getAccount } from './accounts.ts'
import type { Administration } from './administration.ts'
import { amountFields } from './amounts.ts'

/** Closes a month, and all before it, for good. Throws what `closeMonth` of the ledger throws. */
export async function closeBooks (
  { store, flush, actor }: Administration, name: string
): Promise<{ month: BooksMonth, created: boolean }> {
  await flush()
  const { month, isNew } = await closeMonth(store, name, actor)
  return { month: toBooksMonth(month), created: isNew }
}

/** Lists the closed months, the last one first. Throws StoreUnavailable. */
export async function listClosedMonths ({ store }: Administration): Promise<BooksMonthList> {
  const months = await readClosedMonths(store.reports)
  return { object: 'list', data: months.reverse().map(toBooksMonth) }
}

/** Returns what an account had before a time in ms since 1970. Throws GatewayError 404, StoreUnavailable. */
export async function getBalanceAt (
  administration: Administration, id: string, at: number = administration.store.clock()
): Promise<BalanceAt> {
  const { store } = administration
  await getAccount(administration, id)
  const view = await viewBooks(store)
  const sums = await sumsBefore(store, view, at, [id])
  return {
    object: 'balance',
    account: id,
    at: isoTime(at),
    state: view.closed.some(({ endsAt }) => endsAt >= at) ? 'closed' : 'open',
    ...amountFields('balance', balanceOf(sums.get(id) ?? noSums))
  }
}

function toBooksMonth ({ name, closedAt, actor, lastEntry }: ClosedMonth): BooksMonth {
  return {
    object: 'closed_month', month: name, closed_at: isoTime(closedAt), actor, last_entry: entryId(lastEntry)
  }
}
