import { chainDayViolations } from '../../billing/ledger/books/chain-days.ts'
import { dailyViolations } from '../../billing/ledger/check/daily-sums.ts'
import type { Violation } from '../../billing/ledger/check/rules.ts'
import type { Store } from '../../store/store.ts'
import { factKeys, factsOf, factSums, sumOf } from './usage-facts.ts'

/** Compares `usage_day` and `chain_day` with the entries. Throws as `dailyViolations` does. */
export async function * rollUpViolations (
  store: Pick<Store, 'engine' | 'reports'>, signal?: AbortSignal
): AsyncGenerator<Violation> {
  yield * dailyViolations(store, {
    rule: 'usage by day is the sum of its entries',
    table: 'usage_day',
    progress: 'usage_progress',
    keys: factKeys,
    named: ['account', 'api_key', 'model'],
    sums: factSums,
    facts: factsOf,
    sumOf
  }, signal)
  yield * chainDayViolations(store, signal)
}
