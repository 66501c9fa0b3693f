import type { Log } from '../../shared/log.ts'
import { assertSafe } from '../../shared/money.ts'
import type { Timers } from '../../shared/timers.ts'
import type { Store } from '../../store/store.ts'
import type { Posting, Tags } from './ledger.ts'
import type { Grant } from './node-allowance.ts'
import type { LedgerOptions } from './options.ts'

/** The id of a chain in the table `chain`: its account ids, none of which contains a space. */
export function chainId (chain: readonly string[]): string {
  return chain.join(' ')
}

/** What the parts of a node's ledger share. */
export interface NodeContext {
  store: Store
  node: string
  options: LedgerOptions
  timers: Timers
  /** How long a request may run; the configuration may change it. */
  requestMs: () => number
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
  /** Null for a durable hold, which has rows of its own, and for a free one, which has none. */
  readonly grant: Grant | null
  /** See `Reservation.fresh`. */
  readonly fresh: boolean
}

/** Whether a hold is of a free request: it set no money aside, so its entry changes no account. */
export function isFree ({ amountNano }: Pick<OpenHold, 'amountNano'>): boolean {
  return amountNano === 0
}

/**
 * Why an entry is in suspense:
 * - `over_hold`: what a request cost above its hold.
 * - `late`: its hold had ended, so its money may have been given to others.
 * - `rejected`: the database did not accept the charge.
 * - `unverified`: the provider may charge a job, images, or a response that the client did not get.
 */
export type SuspenseReason = 'over_hold' | 'late' | 'rejected' | 'unverified'

export interface Settlement {
  readonly hold: OpenHold
  /** Its place among the settlements of fresh holds in its term, from 1; 0: the id of the hold counts. */
  readonly sequence: number
  /** Null releases a durable hold unused. */
  readonly charge: BoundedCharge | null
  readonly at: number
  /** Why the account is not charged and the entry goes to suspense. */
  readonly suspended: SuspenseReason | null
}

/** A reservation that waits for the next commit. */
export interface PendingReservation {
  readonly id: string
  readonly chain: readonly string[]
  readonly key: string
  readonly amountNano: number
  /** Null: from the node's allowance. `expiresAt` in ms since 1970. */
  readonly durable: { readonly expiresAt: number } | null
  /** With a null `grant` for a durable hold, whose amount is that of its rows. */
  granted (grant: Grant | null, amountNano: number): void
  refused (error: unknown): void
}

export interface Batch { readonly settlements: Settlement[], readonly reservations: PendingReservation[] }

/**
 * A posting divided by its hold: the account is charged at most what is held, and the excess goes to
 * suspense.
 */
export class BoundedCharge {
  readonly posting: Posting
  /** Private, so that no other object passes for a bounded charge. */
  readonly #heldNano: number

  /** Throws RangeError for a cost that is not a whole number from 0 to the safe integers. */
  constructor (heldNano: number, posting: Posting) {
    if (assertSafe(posting.amountNano) < 0) throw new RangeError(`A request cannot cost ${posting.amountNano}`)
    this.posting = posting
    this.#heldNano = heldNano
  }

  /** What the account is charged, in integer nano-USD. */
  get amountNano () { return Math.min(this.posting.amountNano, this.#heldNano) }

  get excessNano () { return this.posting.amountNano - this.amountNano }

  /** What the provider may charge beyond the amount, as far as it is held. */
  get unverifiedNano () { return this.posting.mayCostMore === true ? this.#heldNano - this.amountNano : 0 }
}

/** Returns the JSON for the column `usage` of an entry: its counts, costs, savings and tags. */
export function usageText (
  { usage, costNano: cost, reportedNano: reported, savedNano: saved, tags }: Posting
): string {
  const hasMore = cost !== undefined || reported !== undefined || saved !== undefined || tags != null
  if (!hasMore) return JSON.stringify(usage)
  return JSON.stringify({ ...usage, cost, reported, saved, tags: tags ?? undefined })
}

/** What the column `usage` of an entry says. Costs are in integer nano-USD. */
export interface EntryUsage {
  counts: Record<string, number>
  costNano: number | null
  reportedNano: number | null
  savedNano: number | null
  tags: Tags | null
}

/** Reads the text that `usageText` has written. */
export function readUsageText (text: string): EntryUsage {
  const { cost, reported, saved, tags, ...counts } = JSON.parse(text)
  return {
    counts,
    costNano: cost ?? null,
    reportedNano: reported ?? null,
    savedNano: saved ?? null,
    tags: tags ?? null
  }
}
