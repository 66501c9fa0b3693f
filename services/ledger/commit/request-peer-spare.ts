import { refusalOf, shortages } from './grant.ts'
import type { Decided } from './grant.ts'
import type { Committed, Transaction } from './transaction.ts'

type Recalled = Pick<Committed, 'deferred' | 'refused'>

/**
 * Asks the other nodes for what is spare there, where that would be enough. A reservation is refused for good
 * only when it would not, or when it was not given back in time.
 */
export async function recall (
  { statements, queries, term, options, sentAtMs }: Transaction, short: readonly Decided[], nowMs: number
): Promise<Recalled> {
  if (short.length === 0) return { deferred: [], refused: [] }
  const lacking = short.map((decided) => shortages(decided))
  const accounts = [...new Set(lacking.flatMap((list) => list.map(({ account }) => account)))]
  const spare = await statements.recall(queries, term.id, nowMs - options.leaseMs, accounts)

  const result: Recalled = { deferred: [], refused: [] }
  for (const [index, decided] of short.entries()) {
    const { take } = decided
    const enough = lacking[index]?.every(({ account, lackingNano }) =>
      lackingNano <= (spare.get(account) ?? 0))
    take.giveUpAtMs ??= sentAtMs + options.recallMs
    if (enough === true && sentAtMs < take.giveUpAtMs) result.deferred.push(take)
    else result.refused.push({ take, error: refusalOf(decided) })
  }
  return result
}
