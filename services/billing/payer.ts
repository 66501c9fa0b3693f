import type { Ledger } from '../ledger/ledger.ts'

/** Who pays for a request. */
export interface Payer {
  /** Id of the key. */
  key: string
  /** The accounts that must each cover the request, the paying one first. */
  chain: readonly string[]
}

/** What the poorest account of a chain can still spend, in nano-USD, as far as this node knows. */
export async function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[]
): Promise<number> {
  let least = Infinity
  for (const account of chain) least = Math.min(least, await ledger.availableHint(account))
  return least
}
