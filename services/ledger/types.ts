import type { Posting } from './ledger.ts'
import type { Grant } from './node-allowance.ts'

/** A hold that is neither settled nor released. */
export interface OpenHold {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  /** Integer nano-USD. */
  readonly amountNano: number
  /** What it takes of the node's allowances; null for a durable hold, which has rows of its own. */
  readonly grant: Grant | null
  /** See `Reservation.fresh`. */
  readonly fresh: boolean
}

/** The end of a hold, on its way to the database. */
export interface Settlement {
  readonly hold: OpenHold
  /**
   * Its place among the settlements of fresh holds in its term, from 1; 0 where the id of the hold counts
   * instead.
   */
  readonly sequence: number
  /** Null releases a durable hold unused. */
  readonly posting: Posting | null
  /** Milliseconds since 1970. */
  readonly at: number
  /** The account cannot be charged, so the entry goes to suspense for the operator to look at. */
  suspended: boolean
}

/** A reservation that waits for the next commit. */
export interface PendingReservation {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  readonly amountNano: number
  /** Null: granted by growing the node's allowance. */
  readonly durable: { readonly kind: 'request' | 'job', readonly expiresAt: number } | null
  /** When it stops waiting for spare money of other nodes, on the monotonic clock; null before it does. */
  giveUpAtMs: number | null
  /** With a null `grant` for a durable hold, whose amount is that of its rows. */
  granted (grant: Grant | null, amountNano: number): void
  refused (error: unknown): void
  /** Tries again in a later commit. */
  retry (): void
}

/** What one transaction commits. */
export interface Batch { readonly settlements: Settlement[], readonly reservations: PendingReservation[] }
