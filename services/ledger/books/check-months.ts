import type { Store } from '../../store/store.ts'
import type { Violation } from '../check/rules.ts'
import { readClosingSums } from './balances.ts'
import { readClosedMonths } from './months.ts'
import { balanceOf, combined, noSums, statementLines, sumEntries, type SumsByAccount } from './sums.ts'

/** Compares the sums of closed months with their entries, all of which it reads. Throws StoreUnavailable. */
export async function * monthViolations (
  store: Pick<Store, 'engine' | 'reports'>
): AsyncGenerator<Violation> {
  let sums: SumsByAccount = new Map()
  let closed = null
  for (const month of await readClosedMonths(store.reports)) {
    const { name, endsAt, lastEntry } = month
    // All of them again, since entries of this month may have been booked before the last one was closed.
    sums = combined(sums, await sumEntries(store, { after: 0, until: lastEntry, before: endsAt, closed }))
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
    closed = month
  }
}
