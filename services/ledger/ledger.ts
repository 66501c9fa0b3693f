/** What one request may cost at most, and whose money it is. */
export interface Reservation {
  /** Never chosen by a client: while a hold is open, the same id is the same hold, charged once. */
  id: string
  /** Accounts that must cover the amount: the paying one, its parents, then the key's budget. */
  chain: readonly string[]
  /** Id of the API key; once it has ended, the database rejects a durable hold. */
  key: string
  /** Positive integer nano-USD. */
  amountNano: number
  /** Stored as a row of its own, whatever the amount: for work that outlives its request. */
  durable?: boolean
  /** When a durable hold expires; ms since 1970. */
  expiresAt?: number
  /**
   * The id is used for no other reservation: the hold is not looked up by it, and its entry is recognised by
   * a sequence number, which costs less than an index of ids.
   */
  fresh?: boolean
}

/** What a request really cost. */
export interface Posting {
  /** Integer nano-USD; zero releases the hold without an entry. */
  amountNano: number
  /** The request or job the money was spent for; several entries may share one. */
  ref: string
  model: string
  /** Token counts, images or seconds, stored with the entry. */
  usage: Readonly<Record<string, number>>
  /** The provider reported no usage. */
  estimated: boolean
}

/** Money set aside for one request, until `settle` or `release`; further calls are no-ops. */
export interface Hold {
  readonly id: string
  readonly amountNano: number
  /** Charges the posting and releases the rest. Requests need not await that it is on disk. */
  settle (posting: Posting): Promise<void>
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
   * Sets money aside: at once if this node's allowance covers it, else as a promise. Throws, or rejects with,
   * GatewayError 402 `insufficient_quota` when an account cannot cover the amount, 401 when the key is no
   * longer valid, StoreUnavailable.
   */
  reserve (reservation: Reservation): Hold | Promise<Hold>
  /** Drops a durable hold from memory whose job ends it with `JobHolds`. */
  forget (id: string): void
  /** After every settlement of this node; `heldNano` counts only what running requests hold. */
  balance (account: string): Promise<AccountBalance>
  /** About what this node could still hold for an account, to cap max_tokens; integer nano-USD. */
  availableHint (account: string): number | Promise<number>
  flush (): Promise<void>
  /** Flushes, and releases this node's allowances; later reservations are refused. */
  close (): Promise<void>
  /** Requests that cost more than their hold. */
  readonly overageCount: number
  /** Settlements that came too late to be charged and went to suspense. */
  readonly suspendedCount: number
  /** Settlements that the database rejected for good. */
  readonly lostCount: number
  /** Open holds of this node, including reservations that wait for the database. */
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
