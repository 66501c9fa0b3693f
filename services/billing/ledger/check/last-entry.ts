import type { Store } from '../../../store/store.ts'
import { settledSeq } from '../sql/settled-seq.ts'

/** The number of the last entry. `isStable`: no entry up to it can become visible later. */
export interface LastEntry { seq: number, isStable: boolean }

/** Finds the last entry, after a wait for transactions under way. Throws StoreUnavailable. */
export async function findLastEntry (
  { engine, reports }: Pick<Store, 'engine' | 'reports'>
): Promise<LastEntry> {
  const settled = await settledSeq({ engine, ...reports })
  if (settled !== null) return { seq: settled, isStable: true }
  const last = await reports.get<{ seq: number }>('select coalesce(max(seq), 0) as seq from entry')
  return { seq: last?.seq ?? 0, isStable: false }
}
