import type { Decided } from './grant.ts'
import type { Take, Batch } from '../types.ts'
import type { Postings } from '../sql/postings.ts'
import type { DurableRow, Statements } from '../sql/statements.ts'
import type { Store, Queries } from '../../store/store.ts'
import type { LedgerOptions } from '../options.ts'
import { LRUCache } from 'lru-cache'
import type { Share, Term } from '../node-allowance.ts'

/** What has come of a batch. */
export interface Committed {
  /** From before the database was asked, on the monotonic clock. */
  sentAtMs: number
  /** Whether it was also a sign of life of the node. */
  renewed: boolean
  postings: Postings
  granted: Decided[]
  refused: { take: Take, error: Error }[]
  /** Short of money that another node has spare and was asked for. */
  deferred: Take[]
  /** Reservations whose id has a hold already, open or ended. */
  known: { take: Take, rows: readonly DurableRow[] }[]
}

export interface CommitContext {
  store: Store
  node: string
  options: LedgerOptions
  clock: () => number
  monotonic: () => number
}

/** A commit under way. */
export interface Transaction extends CommitContext {
  statements: Statements
  knownChains: LRUCache<string, true>
  queries: Queries
  batch: Batch
  dirty: readonly Share[]
  term: Term
  sentAtMs: number
}
