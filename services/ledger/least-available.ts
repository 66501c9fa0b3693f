import type { Ledger } from './ledger.ts'

/** What the poorest account of a chain could still spend, in nano-USD, as far as this node knows. */
export function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[]
): number | Promise<number> {
  const hints = chain.map(account => ledger.availableHint(account))
  const known = hints.filter(hint => typeof hint === 'number')
  if (known.length === hints.length) return Math.min(...known)
  return Promise.all(hints).then(all => Math.min(...all))
}
