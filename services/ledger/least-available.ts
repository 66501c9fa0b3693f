import { whenThere } from '../when-there.ts'
import type { Ledger } from './ledger.ts'

/** What the poorest account of a chain could still spend, in nano-USD, as far as this node knows. */
export function leastAvailable (
  ledger: Pick<Ledger, 'availableHint'>, chain: readonly string[]
): number | Promise<number> {
  return chain.reduce<number | Promise<number>>((found, account) => whenThere(found, least => {
    return whenThere(ledger.availableHint(account), hint => Math.min(least, hint))
  }), Infinity)
}
