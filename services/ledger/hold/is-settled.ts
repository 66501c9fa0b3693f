import type { Queries } from '../../store/store.ts'
import { usageKey } from '../commit/postings.ts'
import type { SuspenseReason } from '../types.ts'

/**
 * Whether a hold that was not `fresh` is settled: charged to its account, or in suspense because it could not
 * be charged. A hold in suspense because its client got nothing, `unverified`, is not.
 */
export async function isSettled (queries: Pick<Queries, 'get'>, hold: string): Promise<boolean> {
  const entry = await queries.get<{ reason: string | null }>(
    'select reason from entry where idempotency_key = $1', [usageKey(hold)])
  return entry !== undefined && entry.reason !== unverified
}

const unverified: SuspenseReason = 'unverified'
