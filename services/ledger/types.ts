import type { Log } from '../shared/log.ts'
import type { Timers } from '../shared/timers.ts'
import type { Store } from '../store/store.ts'
import type { Posting } from './ledger.ts'
import type { Grant } from './node-allowance.ts'
import type { LedgerOptions } from './options.ts'

/** What the parts of a node's ledger share. */
export interface NodeContext {
  store: Store
  node: string
  options: LedgerOptions
  timers: Timers
  /** Milliseconds since 1970. */
  clock: () => number
  /** Milliseconds of a clock that is never set. */
  monotonic: () => number
  log: Log
}

/** A hold that is neither settled nor released. */
export interface OpenHold {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  readonly amountNano: number
  /** Null for a durable hold, which has rows of its own. */
  readonly grant: Grant | null
  /** See `Reservation.fresh`. */
  readonly fresh: boolean
}

export interface Settlement {
  readonly hold: OpenHold
  /** Its place among the settlements of fresh holds in its term, from 1; 0: the id of the hold counts. */
  readonly sequence: number
  /** Null releases a durable hold unused. */
  readonly posting: Posting | null
  readonly at: number
  /** The account cannot be charged, so the entry goes to suspense. */
  suspended: boolean
}

/** A reservation that waits for the next commit. */
export interface PendingReservation {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  readonly amountNano: number
  /** Null: from the node's allowance. */
  readonly durable: { readonly kind: 'request' | 'job', readonly expiresAt: number } | null
  /** When it stops waiting for other nodes; monotonic clock. */
  giveUpAtMs: number | null
  /** With a null `grant` for a durable hold, whose amount is that of its rows. */
  granted (grant: Grant | null, amountNano: number): void
  refused (error: unknown): void
  retry (): void
}

export interface Batch { readonly settlements: Settlement[], readonly reservations: PendingReservation[] }
