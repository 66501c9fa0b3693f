import type { Share } from '../node-allowance.ts'
import type { Sums } from '../sql/postings.ts'
import type { AccountRow } from '../sql/account-state-statements.ts'

/**
 * One account in the middle of a commit: the row as it was read and locked, this node's share of it, and what
 * the commit will change. Integer nano-USD.
 */
export interface Standing {
  readonly row: AccountRow
  readonly share: Share
  /** What the settlements of this commit change. */
  readonly sums: Sums
  /** What the node's row will be. */
  coveredNano: number
  /** What of that is granted in this commit. */
  claimedNano: number
  /** What durable holds add to `held`. */
  durableNano: number
}

/**
 * Where an account stands after the settlements of a commit and before anything is granted. What follows
 * touches the share in one direction only: what it loses is lost at once and for good, what it gains comes
 * with `applyTo`, once the database has answered. So nothing has to be undone when a commit fails, or when
 * nobody knows whether it did, and nothing is granted from what the database may have given to others
 * already.
 */
export function createStanding (row: AccountRow, share: Share, sums: Sums): Standing {
  return {
    row,
    share,
    sums,
    // Requests that cost more than they held can have used up more than the row has.
    coveredNano: Math.max(0, share.grantedNano - sums.postedNano),
    claimedNano: 0,
    durableNano: 0
  }
}

/** What the account will be held for. */
export function heldNano ({ row, sums, coveredNano, durableNano }: Standing): number {
  return row.heldNano - row.rowNano + coveredNano - sums.releasedNano + durableNano
}

/** What is left of the account beside everything that is held. */
export function availableNano (standing: Standing): number {
  const { row, sums } = standing
  return row.creditsNano - row.spentNano - sums.spentNano - heldNano(standing)
}

/** What of the node's row no request uses; below zero when requests cost more than they held. */
export function spareNano ({ share, sums, coveredNano, claimedNano }: Standing): number {
  const stillPostedNano = share.postedNano - sums.postedNano - sums.suspendedNano
  return coveredNano - share.inFlightNano - stillPostedNano - claimedNano
}

/** What the account could still cover from this node, once its requests are covered. */
export function withinReachNano (standing: Standing): number {
  return availableNano(standing) + spareNano(standing)
}

/** Sets an amount aside for a request, from what is spare and by making the row larger. */
export function claim (standing: Standing, amountNano: number): void {
  const spare = spareNano(standing)
  standing.share.grantedNano -= Math.min(amountNano, Math.max(0, spare))
  standing.coveredNano += Math.max(0, amountNano - spare)
  standing.claimedNano += amountNano
}

/** Makes the node's row larger, for what may come. */
export function grow (standing: Standing, amountNano: number): void {
  standing.coveredNano += amountNano
}

/** Makes the node's row smaller. */
export function shrink (standing: Standing, amountNano: number): void {
  standing.coveredNano -= amountNano
  standing.share.grantedNano -= amountNano
}

/** Makes the share what the database has acknowledged. */
export function applyTo ({ share, sums, coveredNano, claimedNano }: Standing): void {
  share.grantedNano = coveredNano
  share.inFlightNano += claimedNano
  share.postedNano -= sums.postedNano + sums.suspendedNano
}
