import type { Queries } from '../../../store/store.ts'
import { usageKey } from '../commit/postings.ts'
import type { SuspenseReason } from '../types.ts'

/**
 * Whether a hold that is not `fresh` was charged, or is in suspense because its account could not be charged.
 * False for `unverified` suspense, whose client got nothing.
 */
export async function countsAsCharged (queries: Pick<Queries, 'get'>, hold: string): Promise<boolean> {
  const entry = await queries.get<{ reason: string | null }>(
    'select reason from entry where idempotency_key = $1', [usageKey(hold)])
  return entry !== undefined && entry.reason !== unverified
}

const unverified: SuspenseReason = 'unverified'
