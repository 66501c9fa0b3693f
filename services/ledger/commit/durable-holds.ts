import { endedKey } from '../errors.ts'
import type { NewHoldRow } from '../sql/durable-holds.ts'
import type { PendingReservation } from '../types.ts'
import type { LockedReservation } from './grant.ts'
import type { Committed, Transaction } from './transaction.ts'

/** Inserts the durable holds among what was granted. Returns those rejected because their key has ended. */
export async function insertDurable (
  { statements, queries, node }: Transaction, granted: readonly LockedReservation[]
): Promise<Committed['refused']> {
  const durable = granted.filter(({ reservation }) => reservation.durable !== null)
  if (durable.length === 0) return []
  const rows = durable.flatMap(({ reservation }) => holdRows(reservation))
  const inserted = await statements.insertDurable(queries, node, rows)
  const rejected = durable.filter(({ reservation }) => !inserted.has(reservation.id))
  if (rejected.length === 0) return []

  for (const { reservation, states } of rejected) {
    for (const state of states) state.durableNano -= reservation.amountNano
  }
  const keys = await statements.readKeys(queries, rejected.map(({ reservation }) => reservation.key))
  const byId = new Map(keys.map((key) => [key.id, key]))
  return rejected.map(({ reservation }) => {
    const key = byId.get(reservation.key)
    const why = key === undefined ? 'unknown' : key.revokedAt === null ? 'expired' : 'revoked'
    return { reservation, error: endedKey(reservation.key, why) }
  })
}

function holdRows ({ id, chain, key, amountNano, durable }: PendingReservation): NewHoldRow[] {
  if (durable === null) return []
  const common = { id, amount: amountNano, api_key: key, expires_at: durable.expiresAt }
  return chain.map((account) => ({ ...common, account }))
}
