import type { Posting } from './ledger.ts'
import type { Share, Term } from './node-allowance.ts'

/** Money that was granted and neither settled nor released. */
export interface OpenHold {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  /** Integer nano-USD. */
  readonly amountNano: number
  /** What it was granted under; null when it has rows of its own in the database. */
  readonly granted: { readonly term: Term, readonly shares: readonly Share[] } | null
  /** Nothing else has its id, so its settlement is told from others by a number. */
  readonly fresh: boolean
}

/** The end of a hold, on its way to the database. */
export interface Settlement {
  readonly hold: OpenHold
  /**
   * Above the number of every earlier settlement of a fresh hold of its term; 0 where the id of the hold
   * counts.
   */
  readonly number: number
  /** Null gives a durable hold back unused. */
  readonly posting: Posting | null
  /** Milliseconds since 1970; see `Queue`. */
  readonly at: number
  /** The books would not take it, so it goes where the operator looks at it. */
  suspended: boolean
}

/** A reservation that waits for the database. */
export interface Take {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  readonly amountNano: number
  /** Null: granted by making the node's own hold larger. */
  readonly durable: { readonly kind: 'request' | 'job', readonly expiresAt: number } | null
  /** When it stops waiting for what other nodes have spare, on the monotonic clock; null before it does. */
  giveUpAtMs: number | null
  granted (hold: OpenHold): void
  refused (error: unknown): void
  /** It is to be asked for again a little later. */
  deferred (): void
}

/** What one transaction carries. */
export interface Batch {
  readonly settlements: Settlement[]
  readonly takes: Take[]
}
