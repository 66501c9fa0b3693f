import { assertSafe } from '../../shared/money.ts'
import type { Posting } from '../ledger.ts'

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
}
