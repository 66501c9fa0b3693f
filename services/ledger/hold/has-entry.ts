import type { Queries } from '../../store/store.ts'
import { usageKey } from '../commit/postings.ts'

/** Whether a hold that was not `fresh` is booked: charged to its account, or in suspense. */
export async function hasEntry (queries: Pick<Queries, 'get'>, hold: string): Promise<boolean> {
  return await queries.get('select 1 from entry where idempotency_key = $1', [usageKey(hold)]) !== undefined
}
