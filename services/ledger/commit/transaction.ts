import type { LRUCache } from 'lru-cache'
import type { Queries } from '../../store/store.ts'
import type { NodeAllowance, Term } from '../node-allowance.ts'
import type { DurableRow } from '../sql/durable-holds.ts'
import type { Statements } from '../sql/statements.ts'
import type { Batch, NodeContext, PendingReservation } from '../types.ts'
import type { LockedReservation } from './grant.ts'
import type { Postings } from './postings.ts'

export interface Committed {
  /** From before the database was asked, on the monotonic clock. */
  sentAtMs: number
  renewed: boolean
  postings: Postings
  granted: LockedReservation[]
  refused: { reservation: PendingReservation, error: Error }[]
  /** Reservations whose id has a durable hold already, open or ended. */
  known: { reservation: PendingReservation, rows: readonly DurableRow[] }[]
}

export type CommitContext = Pick<NodeContext, 'store' | 'node' | 'options' | 'requestMs' | 'monotonic'>

export interface Transaction extends CommitContext {
  statements: Statements
  knownChains: LRUCache<string, true>
  queries: Queries
  batch: Batch
  dirty: readonly NodeAllowance[]
  term: Term
  sentAtMs: number
}
