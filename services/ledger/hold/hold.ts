import { assertSafe } from '../../shared/money.ts'
import type { Hold, Posting } from '../ledger.ts'
import type { OpenHold } from '../types.ts'

/** Where the ends of holds go. */
export interface HoldEnds {
  settle (hold: OpenHold, posting: Posting): Promise<void>
  release (hold: OpenHold): Promise<void>
}

/** Creates a hold that can end once; ending it again gives the promise of the first time. */
export function createHold (open: OpenHold, ends: HoldEnds): Hold {
  return new OnceEnded(open, ends)
}

/** A class, because a hold is made for every request: what ends it is not made anew for each. */
class OnceEnded implements Hold {
  readonly #open: OpenHold
  readonly #ends: HoldEnds
  #ended: Promise<void> | null = null

  constructor (open: OpenHold, ends: HoldEnds) {
    this.#open = open
    this.#ends = ends
  }

  get id () { return this.#open.id }

  get amountNano () { return this.#open.amountNano }

  settle (posting: Posting): Promise<void> {
    if (this.#ended !== null) return this.#ended
    if (assertSafe(posting.amountNano) < 0) throw new RangeError(`A request cannot cost ${posting.amountNano}`)
    if (posting.amountNano === 0) return this.release()
    this.#ended = this.#ends.settle(this.#open, posting)
    return this.#ended
  }

  release (): Promise<void> {
    this.#ended ??= this.#ends.release(this.#open)
    return this.#ended
  }
}
