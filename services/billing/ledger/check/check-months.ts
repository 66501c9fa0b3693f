import type { Store } from '../../../store/store.ts'
import type { Violation } from './rules.ts'
import { firstAfterMonth, readClosingSums } from '../books/balances.ts'
import { readClosedMonths, type ClosedMonth } from '../books/months.ts'
import { balanceOf, combined, noSums, statementLines, sumEntries, type SumsByAccount } from '../books/sums.ts'

type Reader = Pick<Store, 'engine' | 'reports'>

/** Compares the sums of all closed months with their entries. Throws StoreUnavailable. */
export async function * monthViolations (store: Reader, signal?: AbortSignal): AsyncGenerator<Violation> {
  let before: SumsByAccount = new Map()
  let last: ClosedMonth | null = null
  for (const month of await readClosedMonths(store.reports)) {
    signal?.throwIfAborted()
    before = yield * compare(store, { month, last, before })
    last = month
  }
}

/**
 * Compares the months that were closed since a time, and one of the others, with the sums of the month before
 * and the entries since: in as many turns as there are months, all of them are compared. Throws
 * StoreUnavailable.
 */
export async function * someMonthViolations (
  store: Reader, { since, turn }: { since: number, turn: number }
): AsyncGenerator<Violation> {
  const months = await readClosedMonths(store.reports)
  for (const [index, month] of months.entries()) {
    if (month.closedAt < since && index !== turn % months.length) continue
    const last = months[index - 1] ?? null
    const before = last === null ? new Map() : await readClosingSums(store, last)
    yield * compare(store, { month, last, before })
  }
}

interface Step {
  month: ClosedMonth
  /** The closed month before, and what accounts had come to at its end. */
  last: ClosedMonth | null
  before: SumsByAccount
}

/** Returns what accounts had come to by the entries. */
async function * compare (
  store: Reader, { month, last, before }: Step
): AsyncGenerator<Violation, SumsByAccount> {
  const { name, endsAt, lastEntry } = month
  const after = last === null ? 0 : await firstAfterMonth(store, last) - 1
  const entries = await sumEntries(store, { after, until: lastEntry, before: endsAt, closed: last })
  const sums = combined(before, entries)
  const stored = await readClosingSums(store, month)
  for (const account of new Set([...sums.keys(), ...stored.keys()])) {
    const [expected, found] = [sums.get(account) ?? noSums, stored.get(account) ?? noSums]
    if (statementLines.every(line => expected[line] === found[line])) continue
    yield {
      rule: 'a closed month has the sums of its entries',
      subject: `${name} ${account}`,
      expected: balanceOf(expected),
      found: balanceOf(found)
    }
  }
  return sums
}
