import type { EntryRow } from './sql/rows.ts'

/** What one request may cost at most, and whose money it is. */
export interface Reservation {
  /** Never chosen by a client: while a hold is open, the same id is the same hold, charged once. */
  id: string
  /** Accounts that must cover the amount: the paying one, its parents, then the key's budget. */
  chain: readonly string[]
  /** Id of the API key; once it has ended, the database rejects a durable hold. */
  key: string
  /** Integer nano-USD; zero for a free request, which sets no money aside. */
  amountNano: number
  /** Stored as a row of its own, whatever the amount: for work that outlives its request. */
  durable?: boolean
  /** When a durable hold expires; ms since 1970. */
  expiresAt?: number
  /** Ends the wait for money that is held for others. */
  signal?: AbortSignal
  /** When the request must be answered, so that the wait ends before; monotonic clock. */
  dueMs?: number
  /**
   * The id is used for no other reservation: the hold is not looked up by it, and its entry is recognised by
   * a sequence number, which costs less than an index of ids.
   */
  fresh?: boolean
}

/** What a request cost. */
export interface Posting {
  /** Integer nano-USD, may be zero; what exceeds the hold goes to suspense. */
  amountNano: number
  /** The request or job the money was spent for; several entries may share one. */
  ref: string
  model: string
  provider?: string | null
  /** Token counts, images or seconds, stored with the entry. */
  usage: Readonly<Record<string, number>>
  /** The provider reported no usage. */
  estimated: boolean
  /** The provider may charge more: what is held beyond the amount goes to suspense as `unverified`. */
  mayCostMore?: boolean
  /** What the operator pays for it, by the operator's cost price; in nano-USD. */
  costNano?: number | undefined
  /** What the provider says that it costs, in nano-USD. */
  reportedNano?: number | undefined
  /** How much more the best model of the pool of `auto` would have charged for it, in nano-USD. */
  savedNano?: number | undefined
  tags?: Tags | null
}

/** Names and values by which usage is reported. */
export type Tags = Readonly<Record<string, string>>

/** Money set aside for one request, until `settle` or `release`; further calls are no-ops. */
export interface Hold {
  readonly id: string
  readonly amountNano: number
  /** What the account is charged, at most `amountNano`; 0 until the hold is settled. */
  readonly chargedNano: number
  /**
   * Charges the posting and releases the rest. Requests need not await that it is on disk. Throws RangeError,
   * with the hold still open, for a cost that is not a whole number from 0 to the safe integers.
   */
  settle (posting: Posting): Promise<void>
  /**
   * Releases everything, and books to suspense what the provider may charge for a response that no client
   * gets. Throws like `settle`.
   */
  suspend (posting: Posting): Promise<void>
  /** Resolves once it is on disk if the hold was durable. */
  release (): Promise<void>
}

/**
 * The money of all accounts, as one node uses it.
 *
 * A request reserves what it may cost at most, which yields a hold; settling the hold makes an entry of what
 * it really cost. To authorise a request without a query, each node keeps an allowance per account: a hold of
 * its own in the database, from which it grants requests in memory. A queue carries settlements and
 * reservations that exceed the allowance to the database, many in one transaction (group commit). An
 * allowance only grows by what is available under the account's row lock, so no account is ever overdrawn,
 * whatever happens to nodes and clocks.
 */
export interface Ledger {
  /** The id of this node in the table `node`. */
  readonly node: string
  /**
   * Sets money aside: at once if this node's allowance covers it, else as a promise. Waits a while for money
   * that is only held for others. Throws, or rejects with, GatewayError 402 `insufficient_quota` when an
   * account has spent too much to cover the amount, 429 `insufficient_funds_held` when it is still held, 401
   * when the key is no longer valid; UpstreamError `aborted`; StoreUnavailable.
   */
  reserve (reservation: Reservation): Hold | Promise<Hold>
  /** Drops a durable hold from memory whose job ends it with `JobHolds`. */
  forget (id: string): void
  /** After every settlement of this node; `heldNano` counts only what running requests hold. */
  balance (account: string): Promise<AccountBalance>
  /** About what an account has, as far as this node knows, to choose output limits and models. */
  means (account: string): AccountMeans | Promise<AccountMeans>
  flush (): Promise<void>
  /** Says how long requests may run from now on, in ms. Other nodes wait for the longest time said. */
  allowRequests (requestMs: number): void
  /** Refuses reservations that wait for held money, now and later, because the gateway stops. */
  refuseWaiting (): void
  /** Flushes, and releases this node's allowances; later reservations are refused. */
  close (): Promise<void>
  /** Logs and counts what a committed transaction of `JobHolds` has booked to suspense. */
  reportSuspended (entries: readonly EntryRow[]): void
  /** Requests and jobs that cost more than their hold. */
  readonly overageCount: number
  /** Settlements that could not be charged and went to suspense. */
  readonly suspendedCount: number
  /** Settlements that `close` could not write; each is logged. */
  readonly lostCount: number
  /** Open holds of this node, including reservations that wait for the database. */
  readonly openHoldCount: number
  /** Reservations that wait for money that other requests hold. */
  readonly waitingCount: number
  /** Settlements that are not on disk yet. */
  readonly unflushedCount: number
  /** For how long nothing can be booked; 0 while it can. */
  readonly outageMs: number
}

/** Integer nano-USD. */
export interface AccountMeans {
  /** What this node could hold now, beside what it is about to hold. */
  availableNano: number
  /** The same with what is held for requests that are still running. */
  unspentNano: number
}

export interface AccountBalance {
  creditsNano: number
  spentNano: number
  heldNano: number
  availableNano: number
}
