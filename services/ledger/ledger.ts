import type { GatewayError } from '../shared/errors.ts'
import type { StoreUnavailable } from '../store/store.ts'

/** What one request may cost at most, and whose money it is. */
export interface Reservation {
  /**
   * Unique per attempt to reserve, and never a client's choice: the same id is the same hold while that is
   * open, and is charged once.
   */
  id: string
  /**
   * Accounts that must each cover the amount, the paying account first, then its parents, then the key's
   * budget if it has one. The first one is charged; the others are charged alike, as limits.
   */
  chain: readonly string[]
  /**
   * The key that asks; a durable hold is refused by the database itself when the key is revoked or expired.
   */
  key: string
  /** Integer nano-USD, above zero. */
  amountNano: number
  /** An own row in the database, whatever the amount: for work that outlives its request. */
  durable?: boolean
  /** When an own row may be given back by anyone; ms since 1970. */
  expiresAt?: number
  /**
   * No other reservation has this id, nor ever will: it need not be found again, in memory or in the books,
   * where its entry is known by its place. A map keyed by texts of which each is new costs more than the rest
   * of a reservation, since V8 interns every one.
   */
  fresh?: boolean
}

/** What a request really cost. */
export interface Posting {
  /** Integer nano-USD; zero books nothing and releases the hold. */
  amountNano: number
  /** The request or job the money was spent for; several entries may share one. */
  ref: string
  /** Public model id. */
  model: string
  /** Token counts, images or seconds, as kept in the books. */
  usage: Readonly<Record<string, number>>
  /** Whether the usage was estimated because the provider told none. */
  estimated: boolean
}

/** Money set aside. Ends by exactly one of `settle` and `release`; further calls change nothing. */
export interface Hold {
  readonly id: string
  readonly amountNano: number
  /**
   * Books the posting and gives back the rest; resolves when that is on disk, which nobody has to wait for.
   */
  settle (posting: Posting): Promise<void>
  /** Gives everything back; resolves when that is on disk where the hold was durable. */
  release (): Promise<void>
}

/** The money of all accounts as this node may use it. */
export interface Ledger {
  /** The id of this node, whose signs of life are in the table `node`. */
  readonly node: string
  /**
   * Sets money aside: at once, without the database, while this node's own hold covers it; else as a promise.
   * Throws, or rejects with, GatewayError 402 `insufficient_quota` (naming balance, held and needed) when an
   * account cannot cover the amount, 401 when the key is no longer good, StoreUnavailable when the database
   * cannot be asked.
   */
  reserve (reservation: Reservation): Hold | Promise<Hold>
  /** Keeps nothing in mind of a durable hold that its job ends itself, see `JobHolds`. */
  forget (id: string): void
  /**
   * What an account has, as every answered request on this node has left it. Integer nano-USD;
   * available = credits − spent − held, where `held` counts only what running requests hold.
   */
  balance (account: string): Promise<AccountBalance>
  /**
   * Roughly what this node could still hold for an account without asking; for affordable caps. Integer
   * nano-USD.
   */
  availableHint (account: string): number | Promise<number>
  /** Writes everything that is still in memory. */
  flush (): Promise<void>
  /** Flushes and gives this node's holds back; no reservation is taken afterwards. */
  close (): Promise<void>
  /** Requests that cost more than their hold, since the start. */
  readonly overageCount: number
  /** Requests that were settled too late to be charged and went to suspense. */
  readonly suspendedCount: number
  /** Settlements that the database refused for good. */
  readonly lostCount: number
  /** Requests that hold money on this node, those that wait for it included. */
  readonly openHoldCount: number
  /** Settlements that are not on disk yet. */
  readonly unflushedCount: number
}

export interface AccountBalance {
  creditsNano: number
  spentNano: number
  heldNano: number
  availableNano: number
}

/** What `reserve` may throw. */
export type ReserveError = GatewayError | StoreUnavailable
