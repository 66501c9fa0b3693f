import type { Ledger } from '../ledger/ledger.ts'

/**
 * What the poorest account of a chain could still spend, in nano-USD, as far as this node knows; never more
 * than `least`.
 */
export function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[], least = Infinity
): number | Promise<number> {
  for (const account of chain) {
    const hint = ledger.availableHint(account)
    if (typeof hint !== 'number') {
      const others = chain.slice(chain.indexOf(account) + 1)
      return hint.then(found => leastAvailable(ledger, others, Math.min(least, found)))
    }
    least = Math.min(least, hint)
  }
  return least
}
