import type { Decided } from './grant.ts'
import type { Take } from '../types.ts'
import { endedKey } from '../refusals.ts'
import type { DurableRow, NewHoldRow } from '../sql/statements.ts'
import type { Transaction } from './transaction.ts'

/** Reads the durable holds that a batch ends or takes, by their id, as far as they exist. */
export async function readDurable (
  { statements, queries, batch }: Transaction
): Promise<Map<string, DurableRow[]>> {
  const ids: string[] = []
  for (const { hold } of batch.settlements) if (hold.granted === null) ids.push(hold.id)
  for (const { id, durable } of batch.takes) if (durable !== null) ids.push(id)
  if (ids.length === 0) return new Map()
  return Map.groupBy(await statements.readDurable(queries, ids), ({ id }) => id)
}

/**
 * Writes the durable holds among what was granted. Returns those the database refused because of their key,
 * which it checks in the very statement that takes the hold.
 */
export async function insertDurable (
  { statements, queries, node }: Transaction, granted: readonly Decided[], nowMs: number
): Promise<Map<Take, Error>> {
  const durable = granted.filter(({ take }) => take.durable !== null)
  if (durable.length === 0) return new Map()
  const rows = durable.flatMap(({ take }) => holdRows(take))
  const taken = await statements.insertDurable(queries, node, nowMs, rows)
  const refused = durable.filter(({ take }) => !taken.has(take.id))
  if (refused.length === 0) return new Map()

  for (const { take, chain } of refused) for (const standing of chain) standing.durableNano -= take.amountNano
  const keys = await statements.readKeys(queries, refused.map(({ take }) => take.key))
  const byId = new Map(keys.map((key) => [key.id, key]))
  return new Map(refused.map(({ take }) => {
    const key = byId.get(take.key)
    const why = key === undefined ? 'unknown' : key.revokedAt === null ? 'expired' : 'revoked'
    return [take, endedKey(take.key, why)]
  }))
}

function holdRows ({ id, chain, key, amountNano, durable }: Take): NewHoldRow[] {
  if (durable === null) return []
  const { kind, expiresAt } = durable
  const common = { id, kind, amount: amountNano, api_key: key, expires_at: expiresAt }
  return chain.map((account) => ({ ...common, account }))
}
