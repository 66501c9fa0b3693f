import { shortageError, shortages, type LockedReservation } from './grant.ts'
import type { Committed, Transaction } from './transaction.ts'

/** Asks other nodes for spare money. Refuses what that would not cover, or did not in `peerSpareMs`. */
export async function requestPeerSpare (
  { statements, queries, term, options, sentAtMs }: Transaction, short: readonly LockedReservation[],
  nowMs: number
): Promise<Pick<Committed, 'deferred' | 'refused'>> {
  const result: Pick<Committed, 'deferred' | 'refused'> = { deferred: [], refused: [] }
  if (short.length === 0) return result
  const lacking = short.map((locked) => shortages(locked))
  const accounts = [...new Set(lacking.flat().map(({ account }) => account))]
  const spare = await statements.requestSpare(queries, term.id, nowMs - options.leaseMs, accounts)

  for (const [index, locked] of short.entries()) {
    const { reservation } = locked
    const suffices = lacking[index]?.every(({ account, lackingNano }) =>
      lackingNano <= (spare.get(account) ?? 0))
    reservation.giveUpAtMs ??= sentAtMs + options.peerSpareMs
    if (suffices === true && sentAtMs < reservation.giveUpAtMs) result.deferred.push(reservation)
    else result.refused.push({ reservation, error: shortageError(locked) })
  }
  return result
}
