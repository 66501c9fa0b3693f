/** What one node may grant of one account, and how much of that is in use. Integer nano-USD. */
export interface Share {
  readonly account: string
  /**
   * The node's hold in the database as far as this process may count on it: never more than the row has,
   * less what is being given back.
   */
  grantedNano: number
  inFlightNano: number
  /** Settled, but not yet acknowledged by the database. */
  postedNano: number
  /** When something was last granted, on the monotonic clock. */
  usedAtMs: number
  /** Nobody used it lately, so nothing is to be kept spare. */
  idle: boolean
  /** Until when nothing is kept spare because another node has asked for it, on the monotonic clock. */
  thriftyUntilMs: number
  /** What the account had left beside this node's hold at the last commit, null before the first. */
  available: { nano: number, atMs: number } | null
}

/** One life of a node between registering and being given up; what it granted belongs to it alone. */
export interface Term {
  /** Id of the node's holds, the node's own id and the epoch. */
  readonly id: string
  readonly epoch: number
  /** The number of the last settlement of a fresh hold; they come to the books in their order. */
  numbered: number
  readonly shares: Map<string, Share>
  /** Those the next commit has to write, whatever else it is for. */
  readonly dirty: Set<Share>
}

/** Returns what may be granted at once; below zero after requests that cost more than their hold. */
export function freeNano (share: Share): number {
  return share.grantedNano - share.inFlightNano - share.postedNano
}

/** Returns the node's share of an account, creating an empty one. */
export function shareOf ({ shares }: Term, account: string): Share {
  const known = shares.get(account)
  if (known !== undefined) return known
  const share = {
    account,
    grantedNano: 0,
    inFlightNano: 0,
    postedNano: 0,
    usedAtMs: 0,
    idle: false,
    thriftyUntilMs: 0,
    available: null
  }
  shares.set(account, share)
  return share
}

/**
 * Sets an amount aside on every account of a chain, or on none. Returns the shares it is taken from, null
 * when they do not cover it.
 */
export function grant (
  term: Term, chain: readonly string[], amountNano: number, nowMs: number
): Share[] | null {
  const taken: Share[] = []
  for (const account of chain) {
    const share = term.shares.get(account)
    if (share === undefined || freeNano(share) < amountNano) return null
    taken.push(share)
  }
  for (const share of taken) use(share, amountNano, nowMs)
  return taken
}

/** Counts an amount as in flight. */
export function use (share: Share, amountNano: number, nowMs: number): void {
  share.inFlightNano += amountNano
  share.usedAtMs = nowMs
  share.idle = false
}

/** Forgets a share in which nothing is left, so that the accounts in memory are those in use. */
export function forgetIfEmpty ({ shares, dirty }: Term, share: Share): void {
  const { grantedNano, inFlightNano, postedNano } = share
  const empty = grantedNano === 0 && inFlightNano === 0 && postedNano === 0
  if (empty && !dirty.has(share)) shares.delete(share.account)
}
