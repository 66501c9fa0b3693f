import { FundsHeld } from '../errors.ts'
import { shortageError, type LockedReservation } from './grant.ts'
import type { Committed, Transaction } from './transaction.ts'

/** Refuses reservations, and asks other nodes for their spare money where the missing money is only held. */
export async function requestPeerSpare (
  { statements, queries, term, options }: Transaction, short: readonly LockedReservation[]
): Promise<Committed['refused']> {
  const refused = short.map((locked) => ({ reservation: locked.reservation, error: shortageError(locked) }))
  const held = refused.flatMap(({ error }) => error instanceof FundsHeld ? [error.account] : [])
  if (held.length > 0) await statements.requestSpare(queries, term.id, options.leaseMs, held)
  return refused
}
