import type { Ledger } from './ledger.ts'

/** What the poorest account of a chain could still spend, in nano-USD, as far as this node knows. */
export async function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[]
): Promise<number> {
  let least = Infinity
  for (const account of chain) least = Math.min(least, await ledger.availableHint(account))
  return least
}
